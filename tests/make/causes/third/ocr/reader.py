import torch
import torch.nn as nn
import torch.nn.functional as F

from ocr.position import grid


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2, self.heads = nn.LayerNorm(dim), nn.LayerNorm(dim), heads
        self.qkv, self.proj, self.up, self.down = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim), nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class PageReader(nn.Module):
    def __init__(self, dim=512, depth=6, letters=6000, patch=16):
        super().__init__()
        self.patch = nn.Conv2d(1, dim, patch, patch)
        self.blocks = nn.Sequential(*(Block(dim, 8) for _ in range(depth)))
        self.letters = nn.Linear(dim, letters)

    def forward(self, page):
        x = self.patch(page)
        h, w = x.shape[-2:]
        x = x.flatten(2).transpose(1, 2) + grid(h, w, x.size(1), x.device).to(x.dtype)
        return self.letters(self.blocks(x)).argmax(-1)
