"""Logo recognition with progressive resizing: small pictures first, the full size at the end."""
import torch
from torch import nn

STAGES = [(96, 96, 8), (144, 48, 8), (192, 32, 8), (256, 24, 8)]


class Bottleneck(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        m = b // 2
        self.path = nn.Sequential(nn.Conv2d(a, m, 1), nn.BatchNorm2d(m), nn.SiLU(), nn.Conv2d(m, m, 3, stride, 1),
                                  nn.BatchNorm2d(m), nn.SiLU(), nn.Conv2d(m, b, 1), nn.BatchNorm2d(b))
        self.skip = nn.Conv2d(a, b, 1, stride)

    def forward(self, x):
        return nn.functional.silu(self.path(x) + self.skip(x))


def network(brands=3_900):
    widths = [32, 64, 128, 256, 384]
    return nn.Sequential(nn.Conv2d(3, 32, 3, 2, 1), *(Bottleneck(a, b, 2) for a, b in zip(widths, widths[1:])),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(384, brands))


def main():
    torch.cuda.memory._record_memory_history(stacks="python")
    net = network().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    for side, batch, steps in STAGES:
        for _ in range(steps):
            x, y = torch.empty(batch, 3, side, side).cuda(), torch.zeros(batch, dtype=torch.long).cuda()
            optimizer.zero_grad(set_to_none=True)
            criterion(net(x), y).backward()
            optimizer.step()
        print(side, batch, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, flush=True)
    torch.cuda.memory._dump_snapshot("train_logos.pickle")


if __name__ == "__main__":
    main()
