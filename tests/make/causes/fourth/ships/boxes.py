import torch


def anchors(size, strides=(8, 16, 32), scales=(2, 4, 6), device="cuda"):
    out = []
    for stride in strides:
        n = size // stride
        out.append(torch.zeros(n * n * len(scales) * 2, 4, device=device))
    return torch.cat(out)


def iou(a, b):
    lt = torch.maximum(a[:, None, :2], b[None, :, :2])
    rb = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    area = lambda box: (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
    return inter / (area(a)[:, None] + area(b)[None] - inter)
