import random

import torch


class Store:
    """Voxel submaps of a warehouse robot: a few dozen on the GPU, the rest on disk."""

    def __init__(self, voxels, feature=24, seed=19):
        self.room, self.feature = voxels, feature
        self.maps, self.used, self.dice = {}, 0, random.Random(seed)

    def make(self, key, size):
        while self.used + size > self.room:
            self.drop(self.dice.choice(list(self.maps)))
        self.maps[key] = torch.zeros(size, self.feature, dtype=torch.float16, device="cuda")
        self.used += size
        return self.maps[key]

    def drop(self, key):
        self.used -= len(self.maps.pop(key))

    def grow(self, key, extra):
        old = self.maps[key]
        new = torch.cat([old, old.new_zeros(extra, self.feature)])
        self.maps[key] = new
        self.used += extra
