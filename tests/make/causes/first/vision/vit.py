import torch
import torch.nn as nn


class PatchEmbed(nn.Module):
    def __init__(self, img=224, patch=16, dim=1024):
        super().__init__()
        self.patch = patch
        self.proj = nn.Linear(3 * patch * patch, dim)
        self.n = (img // patch) ** 2

    def forward(self, x):
        B, C, H, W = x.shape
        p = self.patch
        x = x.reshape(B, C, H // p, p, W // p, p).permute(0, 2, 4, 1, 3, 5).reshape(B, self.n, C * p * p)
        return self.proj(x)


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads, mlp_ratio=4):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, dim * mlp_ratio)
        self.act = nn.GELU()
        self.fc2 = nn.Linear(dim * mlp_ratio, dim)
        self.heads = heads

    def attention(self, x):
        B, N, D = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
        x = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.proj(x.transpose(1, 2).reshape(B, N, D))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.fc2(self.act(self.fc1(self.norm2(x))))


class VisionTransformer(nn.Module):
    def __init__(self, img=224, patch=16, dim=1024, depth=24, heads=16, classes=1000):
        super().__init__()
        self.embed = PatchEmbed(img, patch, dim)
        self.pos = nn.Parameter(torch.zeros(1, self.embed.n, dim))
        self.blocks = nn.ModuleList([EncoderBlock(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward_features(self, x):
        x = self.embed(x) + self.pos
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    def forward(self, x):
        return self.head(self.forward_features(x).mean(1))
