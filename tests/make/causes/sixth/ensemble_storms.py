"""Spread of a hurricane's track from ten networks that were trained apart, run side by side with vmap."""
import argparse
import copy

import torch
from torch import nn
from torch.func import functional_call, stack_module_state


class TrackNet(nn.Module):
    def __init__(self, dim=2560, depth=8):
        super().__init__()
        self.inp = nn.Linear(6 * 11, dim)
        self.body = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim)) for _ in range(depth))
        self.out = nn.Linear(dim, 40 * 2)

    def forward(self, x):
        x = self.inp(x)
        for block in self.body:
            x = x + block(x)
        return self.out(x)


def load(seed):
    with torch.device("cuda"):
        return TrackNet().eval()


@torch.no_grad()
def main(members, storms):
    models = [load(seed) for seed in range(members)]
    base = copy.deepcopy(models[0]).to("meta")
    params, buffers = stack_module_state(models)
    run = torch.vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))
    for storm in range(storms):
        tracks = run(params, buffers, torch.zeros(256, 66, device="cuda"))
        print(storm, tuple(tracks.std(0).shape), torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--storms", type=int, default=12)
    args = parser.parse_args()
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    try:
        main(args.members, args.storms)
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("ensemble_storms.pickle")
        print(error)
        raise
