"""Train a deep GPT on long documents, one document at a time."""
import torch

from lm.data import TokenDataset
from lm.model import GPT, GPTConfig


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000)
    config = GPTConfig(vocab_size=32000, block_size=16384, n_layer=64, n_head=16, n_embd=1280)
    with torch.device("cuda"):
        model = GPT(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    dataset = TokenDataset(config.vocab_size)
    try:
        for step in range(5):
            x, y = dataset.get_batch(1, config.block_size)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                _, loss = model(x, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print("step", step)
    finally:
        print(torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20)
        torch.cuda.memory._dump_snapshot("train_long_lm.pickle")


if __name__ == "__main__":
    main()
