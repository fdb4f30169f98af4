import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.GELU(), nn.Conv2d(64, width, 4, 2, 1), nn.GELU())
        self.body = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.GELU(), nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x):
        h = self.stem(x)
        return h + self.body(h)
