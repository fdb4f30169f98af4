import torch.nn as nn


def stage(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1, stride=2), nn.BatchNorm2d(b), nn.LeakyReLU(0.1), nn.Conv2d(b, b, 3, padding=1), nn.BatchNorm2d(b), nn.LeakyReLU(0.1))


class DefectNet(nn.Module):
    def __init__(self, kinds=7, widths=(48, 96, 192, 384, 768, 1024)):
        super().__init__()
        self.stages = nn.Sequential(*(stage(a, b) for a, b in zip((3,) + widths, widths)))
        self.head = nn.Conv2d(widths[-1], kinds, 1)

    def forward(self, x):
        return nn.functional.interpolate(self.head(self.stages(x)), size=x.shape[-2:], mode="bilinear")
