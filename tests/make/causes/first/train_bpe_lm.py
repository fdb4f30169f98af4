"""Train a small GPT on BPE tokens, validate every few steps."""
import torch

from lm.data import TokenDataset
from lm.model import GPT, GPTConfig

CONFIG = GPTConfig(vocab_size=8192, block_size=512, n_layer=8, n_head=8, n_embd=512, dropout=0.1)
BATCH_SIZE = 16


def evaluate(model, dataset, batches):
    model.eval()
    total_loss = 0.0
    for _ in range(batches):
        x, y = dataset.get_batch(BATCH_SIZE, CONFIG.block_size)
        _, loss = model(x, y)
        total_loss += loss
    model.train()
    return (total_loss / batches).item()


def train(model, optimizer, train_set, val_set, steps=12, eval_every=6):
    for step in range(1, steps + 1):
        x, y = train_set.get_batch(BATCH_SIZE, CONFIG.block_size)
        _, loss = model(x, y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % eval_every == 0:
            print(f"step {step}: val loss {evaluate(model, val_set, 40):.4f}")


def main():
    torch.cuda.memory._record_memory_history(max_entries=200_000, stacks="python")
    with torch.device("cuda"):
        model = GPT(CONFIG)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    train_set, val_set = TokenDataset(CONFIG.vocab_size), TokenDataset(CONFIG.vocab_size, seed=1)
    try:
        train(model, optimizer, train_set, val_set)
    finally:
        torch.cuda.memory._dump_snapshot("train_bpe_lm.pickle")


if __name__ == "__main__":
    main()
