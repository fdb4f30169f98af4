import random

import torch


class MoleculeBatches:
    """Fixed batches of molecules: node features, edges (both directions), the graph of each node, the targets."""

    def __init__(self, count, seed=3, graphs=1024):
        self.graphs, rng = graphs, random.Random(seed)
        self.sizes = [[rng.randrange(9, 9 + rng.randrange(20, 90)) for _ in range(graphs)] for _ in range(count)]

    def __len__(self):
        return len(self.sizes)

    def __iter__(self):
        for sizes in self.sizes:
            nodes = sum(sizes)
            owner = torch.repeat_interleave(torch.arange(self.graphs), torch.tensor(sizes))
            yield torch.empty(nodes, 40), torch.zeros(2, 2 * nodes + nodes // 7, dtype=torch.long), owner, torch.empty(self.graphs)
