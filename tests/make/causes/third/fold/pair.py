import torch
import torch.nn as nn


class TriangleMultiplication(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.ab, self.gate, self.out = nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, z):
        y = self.norm(z)
        a, b = self.ab(y).chunk(2, dim=-1)
        x = torch.einsum("bikc,bjkc->bijc", a, b)
        return z + torch.sigmoid(self.gate(y)) * self.out(x)


class TriangleAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm, self.qkv, self.bias, self.out = nn.LayerNorm(dim), nn.Linear(dim, 3 * dim), nn.Linear(dim, heads), nn.Linear(dim, dim)
        self.heads = heads

    def forward(self, z):
        b, n, _, c = z.shape
        y = self.norm(z)
        q, k, v = self.qkv(y).view(b, n, n, 3, self.heads, -1).permute(3, 0, 1, 4, 2, 5)
        bias = self.bias(y).permute(0, 3, 1, 2).unsqueeze(1)
        scores = q @ k.transpose(-2, -1) + bias
        weights = scores.softmax(-1)
        return z + self.out((weights @ v).transpose(2, 3).reshape(b, n, n, c))


class PairBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.multiply = TriangleMultiplication(cfg.pair_dim)
        self.attend = TriangleAttention(cfg.pair_dim, cfg.heads)
        self.transition = nn.Sequential(nn.LayerNorm(cfg.pair_dim), nn.Linear(cfg.pair_dim, 4 * cfg.pair_dim), nn.ReLU(), nn.Linear(4 * cfg.pair_dim, cfg.pair_dim))

    def forward(self, z):
        z = self.multiply(z)
        z = self.attend(z)
        return z + self.transition(z)


class Distogram(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.left, self.right = nn.Embedding(21, cfg.pair_dim), nn.Embedding(21, cfg.pair_dim)
        self.trunk = nn.ModuleList(PairBlock(cfg) for _ in range(cfg.blocks))
        self.bins = nn.Linear(cfg.pair_dim, cfg.bins)

    def forward(self, residues):
        z = self.left(residues)[:, :, None] + self.right(residues)[:, None]
        for block in self.trunk:
            z = block(z)
        return self.bins(z)
