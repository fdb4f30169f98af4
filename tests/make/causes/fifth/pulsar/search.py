import torch
from torch import nn


class Dedisperse(nn.Module):
    def __init__(self, trials=96, channels=512):
        super().__init__()
        self.sweep = nn.Conv1d(channels, trials, 33, padding=16)
        self.match = nn.Sequential(nn.Conv1d(trials, 64, 9, padding=4), nn.ReLU(), nn.Conv1d(64, 1, 9, padding=4))

    def forward(self, block):
        power = self.sweep(block.float())
        return self.match(power)[:, 0].amax(-1)
