import copy

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.Conv2d(dim, dim, 7, padding=3, groups=dim)
        self.norm = nn.GroupNorm(1, dim)
        self.up, self.down = nn.Conv2d(dim, 4 * dim, 1), nn.Conv2d(4 * dim, dim, 1)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(self.mix(x)))))


class SherdNet(nn.Module):
    """Classifies potsherds; learns the finds of one site after the other without forgetting (LwF)."""

    def __init__(self, dim=1024, depth=12):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 16, stride=16)
        self.blocks = nn.Sequential(*[Block(dim) for _ in range(depth)])
        self.heads = nn.ModuleList()
        self.teacher = None

    def begin_site(self, classes):
        if len(self.heads):
            self.teacher = copy.deepcopy(self).eval().requires_grad_(False)
        self.heads.append(nn.Linear(self.stem.out_channels, classes).to(self.stem.weight.device))

    def forward(self, x):
        x = self.blocks(self.stem(x)).mean((2, 3))
        return [head(x) for head in self.heads]

    def loss(self, x, y):
        out = self(x)
        loss = F.cross_entropy(out[-1], y)
        if self.teacher is not None:
            with torch.no_grad():
                before = self.teacher(x)
            loss = loss + sum(F.mse_loss(o, b) for o, b in zip(out, before)) / len(before)
        return loss
