"""Particle-mesh run of a cosmological box."""
import torch

from galaxies.fields import Particles


@torch.no_grad()
def evolve(side=832, n=832 ** 3, steps=25):
    box = Particles(n, side)
    box.initial()
    print("start", torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, flush=True)
    for step in range(steps):
        box.kick(0.02)
        print(step, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(stacks="python")
    try:
        evolve()
    except torch.OutOfMemoryError as e:
        torch.cuda.memory._dump_snapshot("evolve_galaxies.pickle")
        print(e)
        raise
