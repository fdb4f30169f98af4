import torch
import torch.nn as nn
import torch.nn.functional as F


class Up(nn.Module):
    def __init__(self, deep, skip, out):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(deep + skip, out, 3, padding=1), nn.Conv2d(out, out, 3, padding=1)

    def forward(self, x, skip):
        x = F.interpolate(x, size=skip.shape[-2:], mode="bilinear", align_corners=False)
        x = F.elu(self.conv1(torch.cat([x, skip], 1)))
        return F.elu(self.conv2(x))


class Down(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(a, b, 3, stride=2, padding=1), nn.Conv2d(b, b, 3, padding=1)
        self.norm1, self.norm2 = nn.BatchNorm2d(b), nn.BatchNorm2d(b)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(x)))


class DepthNet(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512)):
        super().__init__()
        self.downs = nn.ModuleList(Down(a, b) for a, b in zip((3,) + widths, widths))
        self.ups = nn.ModuleList(Up(b, a, a) for a, b in zip(widths, widths[1:]))
        self.head = nn.Conv2d(widths[0], 1, 3, padding=1)

    def forward(self, x):
        size, skips = x.shape[-2:], []
        for down in self.downs:
            x = down(x)
            skips.append(x)
        x = skips.pop()
        for up in reversed(self.ups):
            x = up(x, skips.pop())
        return F.softplus(F.interpolate(self.head(x), size=size, mode="bilinear", align_corners=False))
