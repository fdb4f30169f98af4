import torch
import torch.nn as nn
import torch.nn.functional as F


class Res(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, a), nn.Conv2d(a, b, 3, padding=1)
        self.norm2, self.conv2 = nn.GroupNorm(32, b), nn.Conv2d(b, b, 3, padding=1)
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x):
        y = self.conv1(F.silu(self.norm1(x)))
        return self.skip(x) + self.conv2(F.silu(self.norm2(y)))


class Denoiser(nn.Module):
    def __init__(self, width=640, blocks=20):
        super().__init__()
        self.first, self.last = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)
        self.blocks = nn.Sequential(*(Res(width, width) for _ in range(blocks)))

    def forward(self, z):
        return self.last(self.blocks(self.first(z)))


class Decoder(nn.Module):
    def __init__(self, widths=(512, 512, 256, 128)):
        super().__init__()
        self.first = nn.Conv2d(4, widths[0], 3, padding=1)
        self.levels = nn.ModuleList(nn.Sequential(Res(a, b), Res(b, b)) for a, b in zip((widths[0],) + widths, widths))
        self.last = nn.Conv2d(widths[-1], 3, 3, padding=1)

    def forward(self, z):
        x = self.first(z)
        for n, level in enumerate(self.levels):
            x = level(x if n == 0 else F.interpolate(x, scale_factor=2.0))
        return self.last(x)
