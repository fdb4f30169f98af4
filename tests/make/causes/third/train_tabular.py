"""Churn prediction with a feature tokenizer and the Trainer."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Customers(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        return {"features": torch.zeros(90), "labels": torch.tensor(0)}


class FTTransformer(nn.Module):
    def __init__(self, features=90, dim=192, depth=4):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.randn(features, dim)), nn.Parameter(torch.zeros(features, dim))
        layer = nn.TransformerEncoderLayer(dim, 8, 2 * dim, batch_first=True, norm_first=True, dropout=0.1)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 2)

    def forward(self, features, labels):
        x = features[..., None] * self.scale + self.shift
        logits = self.head(self.encoder(x).mean(1))
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    args = TrainingArguments(
        "/tmp/churn", num_train_epochs=2, per_device_train_batch_size=256, gradient_accumulation_steps=2, per_device_eval_batch_size=512,
        eval_strategy="epoch", save_strategy="no", report_to=[], disable_tqdm=True, dataloader_pin_memory=False, logging_steps=5,
    )
    trainer = Trainer(model=FTTransformer(), args=args, train_dataset=Customers(256 * 8 + 77), eval_dataset=Customers(1500))
    trainer.train()
    print(torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, torch.cuda.max_memory_allocated() >> 20)
    torch.cuda.memory._dump_snapshot("train_tabular.pickle")
