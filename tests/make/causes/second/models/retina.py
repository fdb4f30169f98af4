import torch
import torch.nn as nn


def double(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ELU(), nn.Conv2d(b, b, 3, padding=1), nn.ELU())


class VesselNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.one, self.two, self.three = double(3, width), double(width, 2 * width), double(2 * width, 4 * width)
        self.up2 = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(4 * width, 2 * width, 1))
        self.up1 = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(2 * width, width, 1))
        self.back2, self.back1 = double(4 * width, 2 * width), double(2 * width, width)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = self.one(x)
        b = self.two(nn.functional.max_pool2d(a, 2))
        c = self.three(nn.functional.max_pool2d(b, 2))
        b = self.back2(torch.cat([b, self.up2(c)], 1))
        return self.out(self.back1(torch.cat([a, self.up1(b)], 1)))
