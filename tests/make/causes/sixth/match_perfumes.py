"""Molecules and the perfumers' words for them, in one space."""
import sys

import torch

from perfume.towers import Cached, Smell


def main(steps, batch=8192):
    molecules, words = Smell().cuda(), Smell(bits=768, depth=4).cuda()
    optimizer = torch.optim.AdamW([*molecules.parameters(), *words.parameters()], lr=1e-4)
    trainer = Cached(molecules, words, chunk=2048)
    losses = []
    for step in range(steps):
        if step == 4:
            torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
        loss = trainer.step(torch.empty(batch, 2048).cuda(), torch.empty(batch, 768).cuda())
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss)
        print(step, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, flush=True)
    torch.cuda.memory._dump_snapshot("match_perfumes.pickle")
    return torch.stack(losses).mean()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
