"""Preference tuning of a 1.3B GPT."""
import torch

from lm.data import TokenDataset
from lm.dpo import DPOTrainer
from lm.model import GPT, GPTConfig


def main():
    config = GPTConfig(vocab_size=32000, block_size=1024, n_layer=24, n_head=16, n_embd=2048)
    torch.cuda.memory._record_memory_history(max_entries=200_000, stacks="python")
    with torch.device("cuda"):
        model = GPT(config)
    trainer = DPOTrainer(model)
    dataset = TokenDataset(config.vocab_size)
    try:
        for step in range(4):
            chosen, rejected = dataset.get_batch(6, 512), dataset.get_batch(6, 512)
            print("step", step, trainer.step(chosen, rejected), torch.cuda.max_memory_allocated() >> 20)
    finally:
        torch.cuda.memory._dump_snapshot("train_dpo.pickle")


if __name__ == "__main__":
    main()
