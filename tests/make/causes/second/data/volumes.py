import random

import torch


class Exemplars:
    """Scans of earlier hospitals, kept on the GPU as half floats; a new one replaces random old ones once the budget is spent."""

    def __init__(self, budget, seed=1):
        self.budget, self.used, self.scans, self.rng = budget, 0, [], random.Random(seed)

    def add(self, depth):
        need = depth * 512 * 512 * 2
        while self.used + need > self.budget:
            at = self.rng.randrange(len(self.scans))
            self.scans[at], self.scans[-1] = self.scans[-1], self.scans[at]
            gone = self.scans.pop()
            self.used -= gone.numel() * 2
        self.scans.append(torch.empty(depth, 512, 512, dtype=torch.float16, device="cuda"))
        self.used += need

    def draw(self):
        return self.rng.choice(self.scans)
