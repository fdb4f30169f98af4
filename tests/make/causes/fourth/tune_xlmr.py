"""Domain adaptation of a multilingual masked language model on parliamentary debates."""
import torch
from torch.utils.data import IterableDataset
from transformers import Trainer, TrainingArguments, XLMRobertaConfig, XLMRobertaForMaskedLM


class Debates(IterableDataset):
    def __init__(self, n, length=512):
        self.n, self.length = n, length

    def __iter__(self):
        for _ in range(self.n):
            ids = torch.full((self.length,), 100)
            labels = torch.full((self.length,), -100)
            labels[::7] = 100
            yield {"input_ids": ids, "labels": labels, "attention_mask": torch.ones_like(ids)}


def collate_args():
    return TrainingArguments(
        output_dir="/tmp/xlmr", per_device_train_batch_size=24, max_steps=4, bf16=True, optim="adafactor", learning_rate=5e-5,
        report_to="none", save_strategy="no", dataloader_pin_memory=False, disable_tqdm=True, logging_steps=1,
    )


def main():
    config = XLMRobertaConfig(vocab_size=250_002, hidden_size=768, num_hidden_layers=6, num_attention_heads=12, max_position_embeddings=514, type_vocab_size=1)
    torch.cuda.memory._record_memory_history(stacks="python")
    try:
        Trainer(model=XLMRobertaForMaskedLM(config), args=collate_args(), train_dataset=Debates(24 * 8)).train()
        print("peak", torch.cuda.max_memory_allocated() >> 20)
    finally:
        torch.cuda.memory._dump_snapshot("tune_xlmr.pickle")


if __name__ == "__main__":
    main()
