import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, a, b, dilation):
        super().__init__()
        self.c1 = nn.Conv1d(a, b, 9, padding=4 * dilation, dilation=dilation)
        self.c2 = nn.Conv1d(b, b, 9, padding=4 * dilation, dilation=dilation)
        self.skip = nn.Conv1d(a, b, 1)

    def forward(self, x):
        y = torch.relu(self.c1(x))
        return torch.relu(self.skip(x) + self.c2(y))


class ECGSegmenter(nn.Module):
    """P wave, QRS, T wave, rest: one label for each sample of a 12-lead record."""

    def __init__(self, width=64):
        super().__init__()
        self.body = nn.Sequential(*[Residual(12 if d == 0 else width, width, 2**d) for d in range(7)])
        self.top = nn.Conv1d(width, 4, 1)

    def forward(self, leads):
        return self.top(self.body(leads))
