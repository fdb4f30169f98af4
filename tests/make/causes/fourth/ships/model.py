import torch
import torch.nn as nn
import torch.nn.functional as F

from ships.boxes import anchors, iou


class ShipDetector(nn.Module):
    def __init__(self, size=1024, width=32):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 7, 4, 3), nn.ReLU(), nn.Conv2d(width, 2 * width, 3, 2, 1), nn.ReLU())
        self.down = nn.ModuleList(nn.Conv2d(2 * width, 2 * width, 3, 2, 1) for _ in range(2))
        self.heads = nn.ModuleList(nn.Conv2d(2 * width, 6 * 5, 3, 1, 1) for _ in range(3))
        self.size = size

    def forward(self, images, targets):
        x = self.stem(images)
        levels = [x]
        for down in self.down:
            levels.append(torch.relu(down(levels[-1])))
        raw = torch.cat([head(f).permute(0, 2, 3, 1).reshape(len(images), -1, 5) for head, f in zip(self.heads, levels)], 1)
        return sum(self.one(r, t) for r, t in zip(raw, targets)) / len(images)

    def one(self, raw, boxes):
        priors = anchors(self.size, device=raw.device)
        overlap = iou(priors, boxes)
        best, which = overlap.max(1)
        weight = (best > 0.5).float()
        centre = F.smooth_l1_loss(raw[:, :4], boxes[which] - priors, reduction="none").sum(-1)
        return F.binary_cross_entropy_with_logits(raw[:, 4], weight) + (weight * centre).mean()
