import torch
import torch.nn as nn
import torch.nn.functional as F


class Layer(nn.Module):
    def __init__(self, width, heads, kv_heads, inner):
        super().__init__()
        self.dim, self.heads, self.kv_heads = width // heads, heads, kv_heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.kv, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, 2 * kv_heads * self.dim, bias=False), nn.Linear(width, width, bias=False)
        self.gate_up, self.down = nn.Linear(width, 2 * inner, bias=False), nn.Linear(inner, width, bias=False)

    def forward(self, x, cache, pages):
        b, n, d = x.shape
        h = self.norm1(x)
        q = self.q(h).view(b, n, self.heads, self.dim).transpose(1, 2)
        new = self.kv(h).view(b, n, 2, self.kv_heads, self.dim)
        cache[0, pages[:1], 0] = new[0, :1, 0]
        k, v = (cache[i, pages].flatten(0, 1)[None].transpose(1, 2) for i in (0, 1))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, enable_gqa=True).transpose(1, 2).reshape(b, n, d))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Decoder(nn.Module):
    def __init__(self, vocabulary, width, depth, heads, kv_heads, inner):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(width, heads, kv_heads, inner) for _ in range(depth))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, pool, pages):
        x = self.embed(tokens)
        for layer, cache in zip(self.layers, pool.kv):
            x = layer(x, cache, pages)
        return self.head(x[:, -1]).argmax(-1)
