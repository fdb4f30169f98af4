import torch
import torch.nn as nn


class Embedder(nn.Module):
    """A sentence encoder that pools over tokens; attention is written out, for its weights are logged."""

    def __init__(self, vocab=30000, dim=768, layers=6, heads=12):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.qkv = nn.ModuleList([nn.Linear(dim, 3 * dim) for _ in range(layers)])
        self.mlp = nn.ModuleList([nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)) for _ in range(layers)])
        self.heads = heads

    def forward(self, ids):
        x = self.tokens(ids)
        B, T, D = x.shape
        for qkv, mlp in zip(self.qkv, self.mlp):
            q, k, v = qkv(x).view(B, T, 3, self.heads, D // self.heads).permute(2, 0, 3, 1, 4)
            weights = (q @ k.transpose(-2, -1) * 0.125).softmax(-1)
            x = x + (weights @ v).transpose(1, 2).reshape(B, T, D)
            x = x + mlp(x)
        return x.mean(1)


class Service:
    def __init__(self, model, max_batch, max_length):
        self.model = model.eval()
        self.max_batch, self.max_length = max_batch, max_length

    def warm_up(self):
        ids = torch.zeros(self.max_batch, self.max_length, dtype=torch.long, device="cuda")
        self.model(ids)
        torch.cuda.synchronize()

    def embed(self, batch):
        return self.model(batch.cuda()).cpu()
