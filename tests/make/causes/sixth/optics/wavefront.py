import torch
from torch import nn


class Reconstructor(nn.Module):
    """Shack-Hartmann spots to the phase over the pupil."""

    def __init__(self, width=48):
        super().__init__()
        self.spots = nn.Sequential(nn.Conv2d(2, width, 5, padding=2), nn.GELU(), nn.Conv2d(width, width, 3, padding=1), nn.GELU())
        self.phase = nn.Sequential(nn.Upsample(scale_factor=4), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, frames):
        return self.phase(self.spots(frames))


class Mirror:
    def __init__(self, side, gain=0.4):
        self.gain = gain
        self.shape = torch.zeros(2, 1, side, side, device="cuda")

    def correct(self, phase):
        residual = phase - self.shape
        self.shape += self.gain * residual
        return residual
