"""Pretrain a small mixture-of-experts language model with Accelerate."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator


class Experts(nn.Module):
    """Expert-choice routing: each expert takes the same number of tokens."""

    def __init__(self, dim, hidden, experts):
        super().__init__()
        self.router = nn.Linear(dim, experts, bias=False)
        self.up = nn.Parameter(torch.empty(experts, dim, hidden))
        self.down = nn.Parameter(torch.empty(experts, hidden, dim))

    def forward(self, x):
        tokens = x.flatten(0, 1)
        capacity = 2 * len(tokens) // self.up.size(0)
        gate = self.router(tokens).softmax(-1).T
        chosen = gate.argsort(-1, descending=True)[:, :capacity]
        y = torch.bmm(F.silu(torch.bmm(tokens[chosen], self.up)), self.down) * gate.gather(1, chosen)[..., None]
        return torch.zeros_like(tokens).index_add(0, chosen.flatten(), y.flatten(0, 1)).view_as(x)


class Layer(nn.Module):
    def __init__(self, dim, heads, experts):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.qkv, self.proj, self.heads = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False), heads
        self.experts = Experts(dim, 4 * dim, experts)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
        return x + self.experts(self.norm2(x))


class MoE(nn.Module):
    def __init__(self, vocab=16_000, dim=1024, layers=11, heads=16, experts=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Layer(dim, heads, experts) for _ in range(layers))
        self.norm = nn.RMSNorm(dim)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x) @ self.embed.weight.T


def main():
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=2)
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    with accelerator.device:
        model = MoE()
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=3e-4))
    try:
        for step in range(8):
            ids = torch.zeros(1, 256, dtype=torch.long, device=accelerator.device)
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            accelerator.print(step, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("train_moe.pickle")
        raise


if __name__ == "__main__":
    main()
