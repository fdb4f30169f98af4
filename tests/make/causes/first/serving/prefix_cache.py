from collections import OrderedDict

import torch


class PrefixCache:
    """Keeps the keys and values of recent prompts, up to a budget of bytes; the least used go first."""

    def __init__(self, budget, layers=32, kv_heads=8, head_dim=128):
        self.budget, self.shape = budget, (layers, 2, kv_heads, head_dim)
        self.entries = OrderedDict()
        self.bytes = 0

    def insert(self, key, length):
        layers, two, heads, dim = self.shape
        need = layers * two * heads * length * dim * 2
        while self.bytes + need > self.budget:
            self.evict()
        kv = torch.empty(layers, two, heads, length, dim, dtype=torch.bfloat16, device="cuda")
        self.entries[key] = kv
        self.bytes += need
        return kv

    def lookup(self, key):
        if key in self.entries:
            self.entries.move_to_end(key)
            return self.entries[key]
        return None

    def evict(self):
        _, kv = self.entries.popitem(last=False)
        self.bytes -= kv.numel() * kv.element_size()
