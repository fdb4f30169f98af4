"""A beta-VAE of hand-drawn sketches."""
import lightning as L
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sketches(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return torch.zeros(1, 96, 96)


class SketchVAE(L.LightningModule):
    def __init__(self, latent=128, beta=4.0):
        super().__init__()
        self.beta = beta
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 64, 4, 2, 1), nn.SiLU(), nn.Conv2d(64, 128, 4, 2, 1), nn.SiLU(), nn.Conv2d(128, 256, 4, 2, 1), nn.SiLU(), nn.Flatten(), nn.Linear(256 * 144, 2 * latent)
        )
        self.lift = nn.Linear(latent, 256 * 144)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(256, 128, 4, 2, 1), nn.SiLU(), nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.SiLU(), nn.ConvTranspose2d(64, 1, 4, 2, 1)
        )
        self.averages = []

    def _elbo(self, x):
        mean, logvar = self.encoder(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        y = self.decoder(self.lift(z).view(-1, 256, 12, 12))
        kl = -0.5 * (1 + logvar - mean**2 - logvar.exp()).sum(1).mean()
        return F.binary_cross_entropy_with_logits(y, x, reduction="sum") / len(x) + self.beta * kl

    def training_step(self, x, _):
        loss = self._elbo(x)
        self.averages.append(loss.detach())
        return loss

    def on_train_epoch_end(self):
        print("epoch", self.current_epoch, torch.stack(self.averages).mean().item(), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20)
        self.averages.clear()

    def validation_step(self, x, _):
        self._elbo(x)

    def on_train_end(self):
        print(torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, torch.cuda.max_memory_allocated() >> 20)
        torch.cuda.memory._dump_snapshot("train_sketches.pickle")

    def configure_optimizers(self):
        return torch.optim.Adamax(self.parameters(), lr=2e-3)


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    trainer = L.Trainer(max_epochs=3, accelerator="gpu", devices=1, precision="bf16-mixed", accumulate_grad_batches=2, logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(SketchVAE(), DataLoader(Sketches(256 * 8), 256, drop_last=True), DataLoader(Sketches(256 * 2), 256))


if __name__ == "__main__":
    main()
