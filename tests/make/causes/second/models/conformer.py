import torch
import torch.nn as nn
import torch.nn.functional as F


class FeedForward(nn.Module):
    def __init__(self, dim, mult=4):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(dim), nn.Linear(dim, dim * mult), nn.Linear(dim * mult, dim)

    def forward(self, x):
        return x + 0.5 * self.down(F.silu(self.up(self.norm(x))))


class Attention(nn.Module):
    def __init__(self, dim, heads=8):
        super().__init__()
        self.norm, self.qkv, self.out, self.heads = nn.LayerNorm(dim), nn.Linear(dim, 3 * dim), nn.Linear(dim, dim), heads

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(1, 2).reshape(b, t, d))


class ConvModule(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.gate = nn.LayerNorm(dim), nn.Linear(dim, 2 * dim)
        self.depth, self.out = nn.Conv1d(dim, dim, 15, padding=7, groups=dim), nn.Linear(dim, dim)

    def forward(self, x):
        y = F.glu(self.gate(self.norm(x)), dim=-1).transpose(1, 2)
        return x + self.out(F.silu(self.depth(y)).transpose(1, 2))


class Conformer(nn.Module):
    def __init__(self, dim=384, layers=12, mels=80, tokens=1024):
        super().__init__()
        self.front = nn.Linear(4 * mels, dim)
        self.layers = nn.ModuleList(nn.Sequential(FeedForward(dim), Attention(dim), ConvModule(dim), FeedForward(dim)) for _ in range(layers))
        self.head = nn.Linear(dim, tokens)

    def forward(self, mel):
        b, t, m = mel.shape
        x = self.front(mel[:, :t // 4 * 4].reshape(b, t // 4, 4 * m))
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
