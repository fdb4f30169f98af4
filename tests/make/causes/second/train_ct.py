"""Continual learning on CT scans from one hospital after another, with exemplars of the earlier ones."""
import random

import torch
import torch.nn as nn

from data.volumes import Exemplars

GIB = 1 << 30


class SliceNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1, stride=2), nn.ReLU(), nn.Conv2d(4, 8, 3, padding=1, stride=2), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def forward(self, scan):
        return self.head(self.body(scan.float().unsqueeze(1)).mean((2, 3)))


def main(scans=4000):
    torch.cuda.memory._record_memory_history(max_entries=150_000, stacks="python")
    model, exemplars, rng = SliceNet().cuda(), Exemplars(budget=int(11.5 * GIB)), random.Random(2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    try:
        for step in range(scans):
            exemplars.add(rng.randrange(24, 90) if rng.random() < 0.6 else rng.randrange(90, 700))
            if step % 10 == 0:
                scan = exemplars.draw()[:64]
                loss = model(scan).logsumexp(1).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        print(len(exemplars.scans), exemplars.used / GIB)
    except torch.OutOfMemoryError as error:
        print(step, len(exemplars.scans), exemplars.used / GIB)
        torch.cuda.memory._dump_snapshot("train_ct.pickle")
        raise


if __name__ == "__main__":
    main()
