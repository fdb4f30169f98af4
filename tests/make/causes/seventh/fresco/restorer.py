import torch
import torch.nn as nn

from fresco.position import fourier


class Restorer(nn.Module):
    def __init__(self, width=48, depth=5, bands=8):
        super().__init__()
        self.bands = bands
        self.first = nn.Conv2d(3 + 4 * bands, width, 3, padding=1)
        self.body = nn.ModuleList(nn.Conv2d(width, width, 3, padding=2 ** (i % 3), dilation=2 ** (i % 3)) for i in range(depth))
        self.last = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        place = fourier(*x.shape[-2:], self.bands, x.device)
        h = self.first(torch.cat([x, place.expand(len(x), -1, -1, -1)], 1))
        for layer in self.body:
            h = h + torch.relu(layer(h))
        return x + self.last(h)
