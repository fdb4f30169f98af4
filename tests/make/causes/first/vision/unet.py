import torch
import torch.nn as nn


class DoubleConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.act = nn.ReLU()

    def forward(self, x):
        x = self.act(self.bn1(self.conv1(x)))
        return self.act(self.bn2(self.conv2(x)))


class UNet(nn.Module):
    def __init__(self, cin=3, classes=19, width=64, depth=4):
        super().__init__()
        self.inc = DoubleConv(cin, width)
        self.down = nn.ModuleList([DoubleConv(width << i, width << (i + 1)) for i in range(depth)])
        self.up = nn.ModuleList([DoubleConv((width << (i + 1)) + (width << i), width << i) for i in reversed(range(depth))])
        self.pool = nn.MaxPool2d(2)
        self.outc = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skips = [self.inc(x)]
        for down in self.down:
            skips.append(down(self.pool(skips[-1])))
        x = skips.pop()
        for up in self.up:
            skip = skips.pop()
            x = nn.functional.interpolate(x, size=skip.shape[-2:], mode="nearest")
            x = up(torch.cat([skip, x], 1))
        return self.outc(x)
