import random
from collections import deque

import torch


class Memory:
    """The flights' last transitions, on the GPU."""

    def __init__(self, size):
        self.items = deque(maxlen=size)

    def put(self, *transition):
        self.items.append(transition)

    def sample(self, n, dice=random.Random(1)):
        batch = dice.sample(self.items, n)
        return [torch.stack(part) for part in zip(*batch)]
