from collections import OrderedDict

import torch
from torch import nn

SIZES = [(384, 4), (512, 6), (640, 8), (896, 8), (1024, 10), (1280, 12)]


def pair_model(source, target):
    dim, depth = SIZES[hash_pair(source, target) % len(SIZES)]
    with torch.device("cuda"):
        body = nn.TransformerEncoder(nn.TransformerEncoderLayer(dim, dim // 64, 4 * dim, batch_first=True, norm_first=True), depth, enable_nested_tensor=False)
        return nn.Sequential(nn.Embedding(20_000 + 3_333 * (hash_pair(target, source) % 11), dim), body).eval()


def hash_pair(a, b):
    return sum(ord(c) * (7 + 13 * i) for i, c in enumerate(a + b))


class Zoo:
    """The models of the language pairs asked for most recently, as many as the budget holds."""

    def __init__(self, budget):
        self.budget, self.models, self.sizes = budget, OrderedDict(), {}

    def get(self, pair):
        if pair not in self.models:
            before = torch.cuda.memory_allocated()
            self.models[pair] = pair_model(*pair)
            self.sizes[pair] = torch.cuda.memory_allocated() - before
            while sum(self.sizes.values()) > self.budget:
                old, _ = self.models.popitem(last=False)
                del self.sizes[old]
        self.models.move_to_end(pair)
        return self.models[pair]
