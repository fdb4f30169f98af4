import torch
from torch import nn

SIDE = 256


class Decoder(nn.Module):
    """Latent code of a jaw + its three feature planes + point -> signed distance."""

    def __init__(self, code=64, channels=32, width=256):
        super().__init__()
        self.lift = nn.Linear(code, width)
        self.net = nn.Sequential(nn.Linear(width + channels + 3, width), nn.Softplus(100), nn.Linear(width, width),
                                 nn.Softplus(100), nn.Linear(width, 1))

    def forward(self, code, planes, points):
        cell = ((points * 0.5 + 0.5) * (SIDE - 1)).long().clamp(0, SIDE - 1)
        local = 0
        for plane, (i, j) in zip(planes, ((0, 1), (0, 2), (1, 2))):
            local = local + plane.index_select(0, cell[:, i] * SIDE + cell[:, j])
        lifted = self.lift(code).expand(len(points), -1)
        return self.net(torch.cat([lifted, local, points], -1))[:, 0]
