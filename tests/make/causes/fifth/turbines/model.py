import torch
from torch import nn


class Sensors(nn.Module):
    """Autoencoder of a turbine's 96 sensors; a large error means that something is about to break."""

    def __init__(self, sensors=96, width=512):
        super().__init__()
        self.down = nn.Sequential(nn.Conv1d(sensors, width, 9, 4, 4), nn.ELU(), nn.Conv1d(width, width // 2, 9, 4, 4), nn.ELU())
        self.up = nn.Sequential(nn.ConvTranspose1d(width // 2, width, 8, 4, 2), nn.ELU(), nn.ConvTranspose1d(width, sensors, 8, 4, 2))

    def forward(self, x):
        return self.up(self.down(x))

    def error(self, x):
        return (self(x) - x).square().mean((1, 2))
