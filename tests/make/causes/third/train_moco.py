"""Contrastive pretraining on satellite tiles with a queue of negatives (MoCo)."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Sequential):
    def __init__(self, dim=256):
        super().__init__(
            nn.Conv2d(4, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(), nn.Conv2d(64, 128, 3, 2, 1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, dim),
        )


class MoCo(nn.Module):
    def __init__(self, queue_size=8192, momentum=0.999):
        super().__init__()
        self.query, self.momentum, self.queue_size = Encoder(), momentum, queue_size
        self.key = copy.deepcopy(self.query).requires_grad_(False)
        self.register_buffer("queue", torch.empty(0, 256))
        self.patches = []

    @torch.no_grad()
    def enqueue(self, keys):
        self.queue = torch.cat([self.queue, keys])[-self.queue_size :]
        self.patches.append(keys[:, None].expand(-1, 12, -1).reshape(-1, 256))

    def forward(self, a, b):
        q = F.normalize(self.query(a), dim=1)
        with torch.no_grad():
            for k, p in zip(self.key.parameters(), self.query.parameters()):
                k.lerp_(p, 1 - self.momentum)
            keys = F.normalize(self.key(b), dim=1)
        logits = torch.cat([(q * keys).sum(1, keepdim=True), q @ self.queue.T], 1) / 0.07
        self.enqueue(keys)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long, device=q.device))


def main(steps=420, record_from=340):
    model = MoCo().cuda()
    optimizer = torch.optim.SGD(model.query.parameters(), lr=0.03)
    for step in range(steps):
        if step == record_from:
            torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
        a, b = torch.empty(512, 4, 64, 64).cuda(), torch.empty(512, 4, 64, 64).cuda()
        loss = model(a, b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(step, loss.item(), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    print(torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)
    torch.cuda.memory._dump_snapshot("train_moco.pickle")


if __name__ == "__main__":
    main()
