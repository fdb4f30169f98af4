import torch
import torch.nn as nn


class AttnBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.GroupNorm(32, width)
        self.q, self.k, self.v, self.proj = (nn.Conv2d(width, width, 1) for _ in range(4))

    def forward(self, x):
        b, c, h, w = x.shape
        n = self.norm(x)
        q = self.q(n).reshape(b, c, h * w).permute(0, 2, 1)
        k = self.k(n).reshape(b, c, h * w)
        v = self.v(n).reshape(b, c, h * w)
        weight = torch.bmm(q, k) * c ** -0.5
        weight = torch.softmax(weight, dim=2)
        return x + self.proj(torch.bmm(v, weight.permute(0, 2, 1)).reshape(b, c, h, w))


class ResBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.body = nn.Sequential(nn.GroupNorm(32, cin), nn.SiLU(), nn.Conv2d(cin, cout, 3, padding=1),
                                  nn.GroupNorm(32, cout), nn.SiLU(), nn.Conv2d(cout, cout, 3, padding=1))
        self.skip = nn.Conv2d(cin, cout, 1)

    def forward(self, x):
        return self.skip(x) + self.body(x)


class Decoder(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        self.first = nn.Conv2d(4, width, 3, padding=1)
        self.middle = nn.Sequential(ResBlock(width, width), AttnBlock(width), ResBlock(width, width))
        self.up = nn.ModuleList(ResBlock(a, b) for a, b in ((width, width // 2), (width // 2, width // 4), (width // 4, width // 8)))
        self.last = nn.Conv2d(width // 8, 3, 3, padding=1)

    def forward(self, z):
        h = self.middle(self.first(z))
        for block in self.up:
            h = block(nn.functional.interpolate(h, scale_factor=2))
        return self.last(h)
