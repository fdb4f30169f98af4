from collections import deque

import torch


class LBFGS:
    """Two-loop L-BFGS for one large parameter, all of it on the device (no host synchronisation)."""

    def __init__(self, p, rate, history):
        self.p, self.rate = p, rate
        self.pairs = deque(maxlen=history)
        self.last = None

    def direction(self, grad):
        q, alphas = grad.clone(), []
        for s, y in reversed(self.pairs):
            alphas.append((s * q).sum() / (s * y).sum())
            q.sub_(y * alphas[-1])
        for (s, y), alpha in zip(self.pairs, reversed(alphas)):
            beta = (y * q).sum() / (s * y).sum()
            q.add_(s * (alpha - beta))
        return q.neg_()

    @torch.no_grad()
    def step(self, closure):
        with torch.enable_grad():
            loss = closure()
        grad = self.p.grad
        if self.last is not None:
            step, before = self.last
            self.pairs.append((step, grad - before))
        step = self.direction(grad).mul_(self.rate)
        self.p.add_(step)
        self.last = step, grad
        return loss
