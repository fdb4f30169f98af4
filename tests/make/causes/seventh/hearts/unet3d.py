import torch
import torch.nn as nn


class Residual(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv3d(cin, cout, 3, stride, 1), nn.Conv3d(cout, cout, 3, 1, 1)
        self.norm1, self.norm2 = nn.InstanceNorm3d(cout, affine=True), nn.InstanceNorm3d(cout, affine=True)
        self.skip = nn.Conv3d(cin, cout, 1, stride)

    def forward(self, x):
        h = nn.functional.leaky_relu(self.norm1(self.conv1(x)), 0.01)
        h = self.norm2(self.conv2(h))
        return nn.functional.leaky_relu(h + self.skip(x), 0.01)


class UNet3d(nn.Module):
    def __init__(self, classes, widths=(32, 64, 128, 256, 320)):
        super().__init__()
        self.encoder = nn.ModuleList(Residual(a, b, 1 if a == 1 else 2) for a, b in zip((1, *widths), widths))
        self.up = nn.ModuleList(nn.ConvTranspose3d(b, a, 2, 2) for a, b in zip(widths, widths[1:]))
        self.decoder = nn.ModuleList(Residual(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv3d(widths[0], classes, 1)

    def forward(self, x):
        skips = []
        for stage in self.encoder:
            x = stage(x)
            skips.append(x)
        for i in reversed(range(len(self.up))):
            x = self.decoder[i](torch.cat([self.up[i](x), skips[i]], 1))
        return self.head(x)
