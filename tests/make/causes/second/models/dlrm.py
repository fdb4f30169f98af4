import torch
import torch.nn as nn

ROWS = [9_980_000, 5_460_000, 2_200_000, 7_040_000, 3_200_000, 286_000, 142_000, 93_000, 40_000, 12_500, 7_100, 2_200, 980]


class DLRM(nn.Module):
    def __init__(self, dim=64, dense=13):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, dim, mode="sum") for rows in ROWS)
        self.bottom = nn.Sequential(nn.Linear(dense, 512), nn.ReLU(), nn.Linear(512, dim), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(dim + (len(ROWS) + 1) * len(ROWS) // 2, 512), nn.ReLU(), nn.Linear(512, 1))
        pairs = torch.triu_indices(len(ROWS) + 1, len(ROWS) + 1, 1)
        self.register_buffer("i", pairs[0], persistent=False)
        self.register_buffer("j", pairs[1], persistent=False)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        vectors = torch.stack([x] + [table(sparse[:, n]) for n, table in enumerate(self.tables)], 1)
        dots = torch.bmm(vectors, vectors.transpose(1, 2))[:, self.i, self.j]
        return self.top(torch.cat([x, dots], 1)).squeeze(1)
