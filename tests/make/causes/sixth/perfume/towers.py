import torch
import torch.nn.functional as F
from torch import nn


class Smell(nn.Module):
    """A molecule's fingerprint to a vector."""

    def __init__(self, bits=2048, dim=1024, depth=8, out=256):
        super().__init__()
        self.inp = nn.Linear(bits, dim)
        self.body = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)) for _ in range(depth))
        self.out = nn.Linear(dim, out)

    def forward(self, x):
        x = self.inp(x)
        for block in self.body:
            x = x + block(x)
        return F.normalize(self.out(x), dim=-1)


class Cached:
    """Contrastive loss over a batch larger than the card (GradCache): vectors first, then each chunk again with its gradient."""

    def __init__(self, left, right, chunk):
        self.left, self.right, self.chunk = left, right, chunk

    def vectors(self, net, x):
        with torch.no_grad():
            return torch.cat([net(c) for c in x.split(self.chunk)]).requires_grad_()

    def step(self, a, b):
        va, vb = self.vectors(self.left, a), self.vectors(self.right, b)
        loss = F.cross_entropy(va @ vb.T / 0.05, torch.arange(len(va), device=va.device))
        loss.backward()
        for net, x, v in ((self.left, a, va), (self.right, b, vb)):
            for c, g in zip(x.split(self.chunk), v.grad.split(self.chunk)):
                (net(c) * g).sum().backward()
        return loss.detach()
