import torch
from torch import nn


class MixerBlock(nn.Module):
    def __init__(self, gauges, hours):
        super().__init__()
        self.over_gauges = nn.Sequential(nn.LayerNorm(gauges), nn.Linear(gauges, 4 * gauges), nn.GELU(), nn.Linear(4 * gauges, gauges))
        self.over_time = nn.Sequential(nn.LayerNorm(hours), nn.Linear(hours, 4 * hours), nn.GELU(), nn.Linear(4 * hours, hours))

    def forward(self, x):
        x = x + self.over_gauges(x.transpose(1, 2)).transpose(1, 2)
        return x + self.over_time(x)


class Mixer(nn.Module):
    def __init__(self, gauges=3_000, past=336, future=168, depth=6):
        super().__init__()
        self.blocks = nn.Sequential(*(MixerBlock(gauges, past) for _ in range(depth)))
        self.out = nn.Linear(past, future)

    def forward(self, x):
        return self.out(self.blocks(x))
