import torch
import torch.nn as nn
import torch.nn.functional as F


class Upsample(nn.Module):
    def __init__(self, a, b, factor):
        super().__init__()
        self.factor = factor
        self.mix = nn.Linear(a, b)
        self.shape1, self.shape2 = nn.Linear(b, b), nn.Linear(b, b)

    def forward(self, x):
        x = F.leaky_relu(self.mix(x), 0.1).repeat_interleave(self.factor, 1, output_size=x.size(1) * self.factor)
        y = F.leaky_relu(self.shape1(x), 0.1)
        return x + torch.tanh(self.shape2(y))


class Vocoder(nn.Module):
    def __init__(self, mels=80, widths=(512, 256, 128, 64), factors=(8, 8, 2, 2)):
        super().__init__()
        self.ups = nn.ModuleList(Upsample(a, b, f) for a, b, f in zip((mels,) + widths, widths, factors))
        self.out = nn.Linear(widths[-1], 1)

    def forward(self, mel):
        for up in self.ups:
            mel = up(mel)
        return torch.tanh(self.out(mel)).squeeze(-1)
