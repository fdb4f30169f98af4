from collections import deque

import torch


class HiveMemory:
    """The last frames' features of one hive's entrance camera, to recognise a bee that comes back."""

    def __init__(self, frames):
        self.features = deque(maxlen=frames)

    def remember(self, feature):
        self.features.append(feature)

    def gallery(self):
        return torch.cat([f.flatten(2) for f in self.features], 2)
