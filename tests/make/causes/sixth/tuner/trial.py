import torch
from torch import nn
import torch.nn.functional as F


class Growth(nn.Module):
    """Yield of a greenhouse from its climate log."""

    def __init__(self, dim, depth, sensors=42):
        super().__init__()
        self.inp = nn.Linear(sensors, dim)
        self.blocks = nn.ModuleList(nn.ModuleList([nn.LayerNorm(dim), nn.GLU(), nn.Linear(dim, 4 * dim), nn.Linear(2 * dim, dim)]) for _ in range(depth))
        self.out = nn.Linear(dim, 1)

    def forward(self, x):
        x = self.inp(x)
        for norm, gate, up, down in self.blocks:
            x = x + down(gate(up(norm(x))))
        return self.out(x.mean(1)).squeeze(-1)


class Trial:
    def __init__(self, dim, depth, batch, slot):
        slot.take()
        self.model = Growth(dim, depth).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.batch = batch

    def epoch(self, steps=6, hours=1440):
        for _ in range(steps):
            climate, fruit = torch.empty(self.batch, hours, 42).cuda(), torch.empty(self.batch).cuda()
            loss = F.huber_loss(self.model(climate), fruit)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return torch.cuda.max_memory_allocated() >> 20
