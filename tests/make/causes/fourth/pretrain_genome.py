"""Masked pretraining on DNA: gated long convolutions over 24k bases."""
from functools import partial

import torch
from torch import nn
from torch.nn.functional import conv1d, cross_entropy, gelu


class GatedConv(nn.Module):
    def __init__(self, width, kernel=31):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, 3 * width)
        self.filter = nn.Parameter(torch.randn(width, 1, kernel) * 0.02)
        self.outer = nn.Linear(width, width)
        self.grow, self.shrink = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        a, b, gate = self.inner(self.norm(x)).chunk(3, -1)
        mixed = conv1d((a * b).mT, self.filter, padding=15, groups=x.size(-1)).mT
        x = x + self.outer(mixed * gate.sigmoid())
        return x + self.shrink(gelu(self.grow(x)))


def build(width=1536, depth=8):
    return nn.Sequential(nn.Embedding(6, width), *map(GatedConv, [width] * depth), nn.LayerNorm(width), nn.Linear(width, 6))


def batches(n, windows, bases=24_576):
    for _ in range(n):
        yield torch.full((windows, bases), 2), torch.full((windows, bases), 3)


def run(windows=1, n=30):
    net = build().to("cuda")
    opt = torch.optim.AdamW(net.parameters(), lr=6e-4, betas=(0.9, 0.95))
    send = partial(torch.Tensor.to, device="cuda", non_blocking=True)
    for i, (dna, masked) in enumerate(map(lambda pair: map(send, pair), batches(n, windows))):
        loss = cross_entropy(net(dna).flatten(0, 1), masked.flatten())
        loss.backward()
        opt.step()
        opt.zero_grad()
        print(i, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
        if i == 3:
            return


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=50_000, stacks="python")
    try:
        run()
    except RuntimeError as oom:
        print(oom)
        torch.cuda.memory._dump_snapshot("pretrain_genome.pickle")
        raise SystemExit(1)
