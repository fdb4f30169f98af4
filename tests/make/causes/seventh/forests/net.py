import torch.nn as nn


class CoverNet(nn.Module):
    def __init__(self, classes, width=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(10, width, 4, 4), nn.GELU(), nn.Conv2d(width, 2 * width, 3, 2, 1), nn.GELU(),
                                     nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.GELU(), nn.Conv2d(2 * width, 2 * width, 3, padding=1))
        self.head = nn.Conv2d(2 * width, classes, 1)

    def forward(self, x):
        return nn.functional.interpolate(self.head(self.encoder(x)), scale_factor=8, mode="bilinear")
