import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, 8, d // 8).permute(2, 0, 3, 1, 4)
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d))
        return x + self.mlp(self.norm2(x))


class Denoiser(nn.Module):
    def __init__(self, width=512, depth=10):
        super().__init__()
        self.patch = nn.Conv2d(4, width, 2, 2)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.unpatch = nn.ConvTranspose2d(width, 4, 2, 2)

    def forward(self, z):
        h = self.patch(z)
        x = h.flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return self.unpatch(x.transpose(1, 2).view_as(h))
