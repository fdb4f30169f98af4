"""Masked-token training on Pali and Sanskrit texts; every batch is as long as its longest verse."""
import argparse
import random

import torch

from sutras.encoder import Aligner


def verses(n, seed=2):
    dice = random.Random(seed)
    for _ in range(n):
        batch = dice.choice([12, 16, 20, 24])
        yield torch.zeros(batch, min(int(dice.lognormvariate(5.6, 0.7)) + 16, 15_800 // batch), dtype=torch.long)


def main(steps):
    model = Aligner(24_000).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    for step, tokens in enumerate(verses(steps)):
        tokens = tokens.cuda()
        loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(step, tuple(tokens.shape), torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    torch.cuda.memory._record_memory_history(max_entries=30_000, stacks="python")
    try:
        main(args.steps)
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("learn_sutras.pickle")
        print(error)
        raise SystemExit(1)
