"""Lightning."""
import lightning
import torch


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 64)

    def training_step(self, batch, _):
        return self.layer(batch).square().mean()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


rows = torch.utils.data.DataLoader(torch.randn(16, 64), batch_size=4)
trainer = lightning.Trainer(accelerator="gpu", devices=1, max_steps=4, logger=False, enable_checkpointing=False)
trainer.fit(Model(), rows)
