import torch
from torch import nn


class Earth(nn.Module):
    """Sound velocity below the survey, on a regular grid; a crude one-way propagator stands for the wave equation."""

    def __init__(self, shape):
        super().__init__()
        self.velocity = nn.Parameter(torch.zeros(shape, device="cuda"))

    def shot(self, line):
        """What the receivers hear of one shot."""
        section = self.velocity[line]
        wave, heard = torch.zeros_like(section[0]), []
        for depth in range(0, len(section), 32):
            wave = 0.98 * wave.roll(1) + section[depth] * 0.01
            heard.append(wave)
        return torch.stack(heard)
