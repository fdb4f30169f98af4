import torch
import torch.nn as nn


class Mixer(nn.Module):
    def __init__(self, width, samples):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.time = nn.Conv1d(width, width, 31, padding=15, groups=width)
        self.up, self.down = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)

    def forward(self, x):
        x = x + self.time(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class PhasePicker(nn.Module):
    def __init__(self, width=96, depth=6, samples=1500):
        super().__init__()
        self.patch = nn.Conv1d(3, width, 8, stride=4, padding=2)
        self.blocks = nn.ModuleList(Mixer(width, samples) for _ in range(depth))
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        x = self.patch(x).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return self.head(x)
