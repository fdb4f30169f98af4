import torch
from torch import nn


class SeriesEncoder(nn.Module):
    """A year of Sentinel-2 pixels (time x bands) -> one vector, by temporal convolutions."""

    def __init__(self, bands=13, width=128, depth=4):
        super().__init__()
        self.stem = nn.Conv1d(bands, width, 1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv1d(width, width, 5, padding=2 * 2 ** i, dilation=2 ** i), nn.GroupNorm(8, width), nn.GELU())
            for i in range(depth))

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = x + block(x)
        return x.mean(-1)


class FieldNet(nn.Module):
    def __init__(self, crops=22):
        super().__init__()
        self.encoder = SeriesEncoder()
        self.heads = nn.ModuleDict({"crop": nn.Linear(128, crops), "sown": nn.Linear(128, 1), "yield": nn.Linear(128, 1)})

    def forward(self, x):
        z = self.encoder(x)
        return {name: head(z) for name, head in self.heads.items()}
