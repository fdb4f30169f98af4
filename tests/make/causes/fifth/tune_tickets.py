"""Routes support tickets to teams: ELECTRA with the Trainer."""
import torch
from torch.utils.data import Dataset
from transformers import ElectraConfig, ElectraForSequenceClassification, Trainer, TrainingArguments


class Tickets(Dataset):
    def __init__(self, n):
        self.lengths = [64 + 16 * (i // 64 * 7 % 13) for i in range(n)]

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        return {"input_ids": torch.ones(self.lengths[i // 64 * 64], dtype=torch.long), "labels": i % 9}


def collate(rows):
    longest = max(len(r["input_ids"]) for r in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    for row, r in zip(ids, rows):
        row[: len(r["input_ids"])] = r["input_ids"]
    return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": torch.tensor([r["labels"] for r in rows])}


def main():
    config = ElectraConfig(vocab_size=30_522, embedding_size=128, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                           intermediate_size=1024, num_labels=9)
    arguments = TrainingArguments("/tmp/tickets", per_device_train_batch_size=64, max_steps=14, learning_rate=2e-4, save_strategy="no",
                                  logging_steps=7, report_to=[], torch_empty_cache_steps=1, dataloader_num_workers=0)
    trainer = Trainer(ElectraForSequenceClassification(config), arguments, train_dataset=Tickets(2_560), data_collator=collate)
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    trainer.train()
    stats = torch.cuda.memory_stats()
    print(stats["num_device_alloc"], stats["num_device_free"], torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)
    torch.cuda.memory._dump_snapshot("tune_tickets.pickle")


if __name__ == "__main__":
    main()
