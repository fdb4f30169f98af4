import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.first, self.second = nn.Conv2d(dim, dim, 3, padding=1), nn.Conv2d(dim, dim, 3, padding=1)

    def forward(self, x):
        return x + self.second(F.leaky_relu(self.first(x), 0.1))


class Restorer(nn.Module):
    """Old film at twice the size, eight neighbouring frames as one batch."""

    def __init__(self, dim=64, depth=20):
        super().__init__()
        self.head = nn.Conv2d(3, dim, 3, padding=1)
        self.body = nn.Sequential(*[Residual(dim) for _ in range(depth)])
        self.tail = nn.Sequential(nn.Conv2d(dim, 12, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x):
        return self.tail(self.body(self.head(x)))
