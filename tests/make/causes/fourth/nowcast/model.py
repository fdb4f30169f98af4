import torch
import torch.nn as nn


class ConvGRUCell(nn.Module):
    def __init__(self, c_in, c):
        super().__init__()
        self.gates, self.cand = nn.Conv2d(c_in + c, 2 * c, 3, padding=1), nn.Conv2d(c_in + c, c, 3, padding=1)

    def forward(self, x, h):
        r, z = self.gates(torch.cat((x, h), 1)).sigmoid().chunk(2, 1)
        return torch.lerp(h, self.cand(torch.cat((x, r * h), 1)).tanh(), z)


class Nowcaster(nn.Module):
    def __init__(self, c=48):
        super().__init__()
        self.c, self.cell, self.head = c, ConvGRUCell(1, c), nn.Conv2d(c, 1, 1)

    def forward(self, radar, ahead):
        h = radar.new_zeros(len(radar), self.c, *radar.shape[-2:])
        for t in range(radar.size(1)):
            h = self.cell(radar[:, t : t + 1], h)
        out = [self.head(h)]
        for _ in range(ahead - 1):
            h = self.cell(out[-1], h)
            out.append(self.head(h))
        return torch.cat(out, 1)
