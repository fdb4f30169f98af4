"""Predict yields of reactions with a graph transformer; a batch is padded to its largest molecule."""
import torch
import torch.nn as nn
import torch.nn.functional as F

ATOMS = [88, 97, 76, 104, 91, 83, 110, 79, 95, 301, 87, 99]  # largest molecule of each batch


class GraphLayer(nn.Module):
    def __init__(self, dim, edge, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.edge_bias, self.edge_update = nn.Linear(edge, heads), nn.Sequential(nn.Linear(edge + heads, 2 * edge), nn.GELU(), nn.Linear(2 * edge, edge))

    def forward(self, h, e):
        b, n, d = h.shape
        q, k, v = self.qkv(h).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) + self.edge_bias(e).permute(0, 3, 1, 2)
        h = h + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))
        return h, e + self.edge_update(torch.cat([e, scores.permute(0, 2, 3, 1)], -1))


class YieldModel(nn.Module):
    def __init__(self, dim=256, edge=64, heads=8, depth=8):
        super().__init__()
        self.atom, self.bond = nn.Embedding(120, dim), nn.Embedding(24, edge)
        self.layers = nn.ModuleList(GraphLayer(dim, edge, heads) for _ in range(depth))
        self.head = nn.Linear(dim, 1)

    def forward(self, atoms, bonds):
        h, e = self.atom(atoms), self.bond(bonds)
        for layer in self.layers:
            h, e = layer(h, e)
        return self.head(h.mean(1)).squeeze(1)


def collate(n, batch_size=48):
    return torch.zeros(batch_size, n, dtype=torch.long), torch.zeros(batch_size, n, n, dtype=torch.long), torch.zeros(batch_size)


def run(model, optimizer):
    for step, n in enumerate(ATOMS):
        atoms, bonds, target = (t.cuda() for t in collate(n))
        loss = F.huber_loss(model(atoms, bonds), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(step, n, loss.item(), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)


torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
model = YieldModel().cuda()
try:
    run(model, torch.optim.AdamW(model.parameters(), lr=3e-4))
finally:
    torch.cuda.memory._dump_snapshot("train_reactions.pickle")
