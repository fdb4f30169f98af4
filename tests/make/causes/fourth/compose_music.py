"""Continue piano pieces with a small event transformer; keys and values of the past are kept."""
import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.wqkv, self.wo = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.SiLU(), nn.Linear(4 * d, d))

    def forward(self, x, past):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.wqkv(self.ln1(x)).chunk(3, -1))
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
        x = x + self.wo(y.transpose(1, 2).flatten(2))
        return x + self.ff(self.ln2(x)), (k, v)


class Composer(nn.Module):
    def __init__(self, events=512, d=1024, depth=4):
        super().__init__()
        self.emb = nn.Embedding(events, d)
        self.blocks = nn.ModuleList(Block(d, 16) for _ in range(depth))

    def forward(self, events, state):
        x = self.emb(events)
        state = state or [None] * len(self.blocks)
        fresh = []
        for block, past in zip(self.blocks, state):
            x, kept = block(x, past)
            fresh.append(kept)
        return x[:, -1] @ self.emb.weight.T, fresh


@torch.no_grad()
def compose(model, opening, length):
    state, events, piece = None, opening, [opening.cpu()]
    for _ in range(length):
        logits, state = model(events, state)
        events = logits.argmax(-1, keepdim=True)
        piece.append(events.cpu())
    print(torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)
    torch.cuda.memory._dump_snapshot("compose_music.pickle")
    return torch.cat(piece, 1)


if __name__ == "__main__":
    model = Composer().cuda().half().eval()
    torch.cuda.memory._record_memory_history(max_entries=9_000, stacks="python")
    print(compose(model, torch.zeros(256, 32, dtype=torch.long, device="cuda"), 160).shape)
