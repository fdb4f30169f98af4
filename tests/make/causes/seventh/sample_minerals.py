"""Crystal structures of new minerals from a diffusion model over atoms, one unit cell at a time."""
import gc
import random
import sys

import torch
import torch.nn as nn


class Denoiser(nn.Module):
    def __init__(self, width=256, depth=3):
        super().__init__()
        self.atom, self.time = nn.Linear(103, width), nn.Linear(1, width)
        self.edge = nn.ModuleList(nn.Sequential(nn.Linear(2 * width + 4, width), nn.SiLU(), nn.Linear(width, width)) for _ in range(depth))
        self.out = nn.Linear(width, 3)

    def forward(self, atoms, place, t):
        h = self.atom(atoms) + self.time(t)
        n = len(h)
        offset = place[:, None] - place[None]
        near = torch.cat([offset, offset.norm(dim=-1, keepdim=True)], -1)
        for edge in self.edge:
            pair = torch.cat([h[:, None].expand(n, n, -1), h[None].expand(n, n, -1), near], -1)
            h = h + edge(pair).mean(1)
        return self.out(h)


@torch.no_grad()
def sample(net, n_atoms, steps=6):
    atoms = torch.zeros(n_atoms, 103, device="cuda")
    place = torch.zeros(n_atoms, 3, device="cuda")
    for t in torch.linspace(1, 0, steps):
        place = (place - net(atoms, place, t.cuda().view(1, 1)) / steps) % 1.0
        gc.collect()
        torch.cuda.empty_cache()
    return place.cpu()


def main(n):
    dice = random.Random(1)
    net = Denoiser().cuda().eval()
    for number in range(n):
        cell = sample(net, dice.randrange(150, 500))
        print(number, tuple(cell.shape), torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, torch.cuda.max_memory_allocated() >> 20,
              torch.cuda.memory_stats()["num_device_alloc"], torch.cuda.memory_stats()["num_device_free"], flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    torch.cuda.memory._dump_snapshot("sample_minerals.pickle")
