"""Fine-tune a GPT-2 on product reviews with the Trainer; token accuracy as the metric."""
import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments


class Reviews(Dataset):
    def __init__(self, rows, length=256):
        self.rows, self.length = rows, length

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        ids = torch.full((self.length,), 11)
        return {"input_ids": ids, "labels": ids}


def compute_metrics(prediction):
    guess = prediction.predictions.argmax(-1)
    return {"accuracy": float((guess[:, :-1] == prediction.label_ids[:, 1:]).mean())}


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model = GPT2LMHeadModel(GPT2Config(n_layer=6, n_embd=512, n_head=8, use_cache=False))
    args = TrainingArguments(
        "/tmp/reviews", max_steps=6, per_device_train_batch_size=8, per_device_eval_batch_size=16, eval_strategy="steps",
        eval_steps=3, save_strategy="no", report_to=[], disable_tqdm=True, dataloader_pin_memory=False, logging_steps=3,
    )
    trainer = Trainer(model=model, args=args, train_dataset=Reviews(64), eval_dataset=Reviews(800), compute_metrics=compute_metrics)
    try:
        trainer.train()
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("tune_reviews.pickle")
        raise


if __name__ == "__main__":
    main()
