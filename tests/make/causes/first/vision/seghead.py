import torch
import torch.nn as nn
import torch.nn.functional as F


class Stage(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, 2, 1, bias=False)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class MultiScaleSegmenter(nn.Module):
    """Predicts at four scales; every prediction is brought to full size for its own loss."""

    def __init__(self, classes=150, width=64):
        super().__init__()
        self.stages = nn.ModuleList([Stage(3 if i == 0 else width << (i - 1), width << i) for i in range(4)])
        self.heads = nn.ModuleList([nn.Conv2d(width << i, classes, 1) for i in range(4)])

    def forward(self, images):
        size = images.shape[-2:]
        x, outputs = images, {}
        for i, (stage, head) in enumerate(zip(self.stages, self.heads)):
            x = stage(x)
            outputs[f"scale{i}"] = F.interpolate(head(x), size=size, mode="bilinear", align_corners=False)
        return outputs
