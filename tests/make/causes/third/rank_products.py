"""A two-tower recommender with Lightning."""
import lightning as L
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Ranker(L.LightningModule):
    def __init__(self, users=1_000_000, items=40_000, dim=64, lr=0.05):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.lr = lr
        self.val_scores, self.val_targets = [], []

    def training_step(self, batch, batch_idx):
        users, items = batch
        scores = self.user(users) @ self.item(items).T
        return F.cross_entropy(scores, torch.arange(len(users), device=self.device))

    def validation_step(self, batch, batch_idx):
        users, items = batch
        scores = self.user(users) @ self.item.weight.T
        self.val_scores.append(scores)
        self.val_targets.append(items)
        self.log("val_loss", F.cross_entropy(scores, items))

    def on_validation_epoch_end(self):
        scores, targets = torch.cat(self.val_scores), torch.cat(self.val_targets)
        rank = (scores > scores.gather(1, targets[:, None])).sum(1)
        self.log("recall@20", (rank < 20).float().mean())
        self.val_scores.clear()
        self.val_targets.clear()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)


def loader(rows, batch_size):
    return DataLoader(TensorDataset(torch.zeros(rows, dtype=torch.long), torch.zeros(rows, dtype=torch.long)), batch_size)


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    trainer = L.Trainer(accelerator="gpu", devices=1, max_epochs=2, logger=False, enable_checkpointing=False,
                        enable_progress_bar=False, enable_model_summary=False)
    try:
        trainer.fit(Ranker(), loader(8192 * 6, 8192), loader(2048 * 60, 2048))
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("rank_products.pickle")
        raise


if __name__ == "__main__":
    main()
