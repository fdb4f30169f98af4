"""Fine-tune a GPT with gradient accumulation."""
import torch

from lm.data import TokenDataset
from lm.model import GPT, GPTConfig


def train(model, optimizer, dataset, steps=5, accumulate=4):
    for step in range(steps):
        optimizer.zero_grad(set_to_none=False)
        for micro in range(accumulate):
            x, y = dataset.get_batch(4, 512)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                _, loss = model(x, y)
            (loss / accumulate).backward()
        optimizer.step()
        print("step", step, torch.cuda.max_memory_allocated() >> 20)


def main():
    config = GPTConfig(vocab_size=50304, block_size=512, n_layer=24, n_head=16, n_embd=1024)
    with torch.device("cuda"):
        model = GPT(config)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    torch.cuda.memory._record_memory_history(max_entries=60_000, stacks="python")
    train(model, optimizer, TokenDataset(config.vocab_size))
    torch.cuda.memory._dump_snapshot("finetune_accumulate.pickle")


if __name__ == "__main__":
    main()
