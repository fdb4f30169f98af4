import torch
import torch.nn as nn


def double(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
                         nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, channels=2, widths=(24, 48, 96, 192)):
        super().__init__()
        self.down = nn.ModuleList(double(a, b) for a, b in zip((channels, *widths), widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(widths, widths[1:]))
        self.merge = nn.ModuleList(double(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv2d(widths[0], 1, 1)

    def forward(self, x):
        skips = []
        for stage in self.down:
            x = stage(x if not skips else nn.functional.max_pool2d(x, 2))
            skips.append(x)
        for i in reversed(range(len(self.up))):
            x = self.merge[i](torch.cat([skips[i], self.up[i](x)], 1))
        return self.head(x)[:, 0]
