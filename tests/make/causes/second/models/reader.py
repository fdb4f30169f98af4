import math

import torch
import torch.nn as nn


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim) for _ in range(4))
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, bias):
        y = self.norm1(x)
        q, k, v = self.split(self.q(y)), self.split(self.k(y)), self.split(self.v(y))
        scores = q @ k.transpose(-2, -1)
        scores.mul_(1 / math.sqrt(q.shape[-1])).add_(bias)
        weights = scores.softmax(-1)
        x = x + self.o((weights @ v).transpose(1, 2).flatten(2))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class Reader(nn.Module):
    """Marks the clauses of a document; positions enter as a bias that grows with the distance."""

    def __init__(self, vocabulary=50_000, dim=1024, heads=16, layers=18, labels=41):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        self.layers = nn.ModuleList(Layer(dim, heads) for _ in range(layers))
        self.head = nn.Linear(dim, labels)

    def forward(self, ids):
        at = torch.arange(ids.shape[1], device=ids.device, dtype=self.head.weight.dtype)
        bias = (at[None] - at[:, None]).abs_().neg_()
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, bias)
        return self.head(x)
