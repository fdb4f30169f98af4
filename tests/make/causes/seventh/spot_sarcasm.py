"""Grid over learning rate and dropout for a sarcasm classifier; the best run's trainer does the final evaluation."""
import itertools

import torch
from torch.utils.data import Dataset
from transformers import RobertaConfig, RobertaForSequenceClassification, Trainer, TrainingArguments


class Comments(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return {"input_ids": torch.full((96,), 5), "attention_mask": torch.ones(96, dtype=torch.long), "labels": torch.tensor(index % 2)}


def run(lr, dropout):
    config = RobertaConfig(vocab_size=30_000, hidden_size=768, num_hidden_layers=8, num_attention_heads=12, intermediate_size=3072,
                           max_position_embeddings=130, hidden_dropout_prob=dropout, num_labels=2)
    args = TrainingArguments("/tmp/sarcasm", learning_rate=lr, max_steps=3, per_device_train_batch_size=16, report_to=[],
                             save_strategy="no", logging_strategy="no", disable_tqdm=True)
    trainer = Trainer(RobertaForSequenceClassification(config), args, train_dataset=Comments(), eval_dataset=Comments())
    trainer.train()
    return trainer


def grid(rates=(1e-5, 2e-5, 3e-5, 5e-5, 1e-4, 2e-4), dropouts=(0.0, 0.1, 0.2)):
    runs = {}
    for lr, dropout in itertools.product(rates, dropouts):
        runs[lr, dropout] = trainer = run(lr, dropout)
        print(lr, dropout, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    best = max(runs, key=lambda key: -runs[key].state.log_history[-1].get("train_loss", 0.0))
    return best, runs[best].evaluate()


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=25_000, stacks="python")
    try:
        print(grid())
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("spot_sarcasm.pickle")
        print(error)
        raise SystemExit(1)
