"""The language model of the course CS336, as the strangers' recordings show it: its operations, their order and their sizes.

Their files show the operations in the frames, and the sizes of all tensors. There are two kinds, of the course's years
2025 and 2026; they differ in how positions become angles, and in the mask. Weights stay as they were allocated, as nothing is computed.

A function's name for a tensor keeps the tensor alive until the function ends, and these tensors are freed in the order
of the names. So names affect a recording, and code that looks useless here is not.
"""

import math

import torch
from einops import einsum, rearrange
from torch import nn

VOCABULARY = 10_000
# Width, inner width, layers, heads.
SIZES = {
    "small": (768, 3072, 12, 12),
    "medium": (1024, 4096, 24, 16),
    "xl": (2560, 10240, 32, 32),
}


class Linear(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outer, inner))

    def forward(self, x):
        return einsum(x, self.weight, "... inner, outer inner -> ... outer")


class Embedding(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(VOCABULARY, width))

    def forward(self, tokens):
        return self.weight[tokens, :]


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        x = x * scale
        return (self.weight * x).to(dtype)


class Rotary(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        self.register_buffer("cache", torch.empty(2, length, width // 2), persistent=False)


class Rotary2025(Rotary):
    def forward(self, x, positions):
        import einx

        first, second = rearrange(x, "... (half xy) -> xy ... half", xy=2)
        cos, sin = einx.get_at("angles [positions] half, ... -> angles ... half", self.cache, positions)
        turned_first = cos * first - sin * second
        turned_second = sin * first + cos * second
        return einx.rearrange("... half, ... half -> ... (half (1 + 1))", turned_first, turned_second).contiguous()


class Rotary2026(Rotary):
    def forward(self, x):
        first, second = rearrange(x, "... (half xy) -> xy ... half", xy=2).unbind(0)
        cos, sin = self.cache[:, : x.size(-2), :].unbind(0)
        turned_first = cos * first - sin * second
        turned_second = sin * first + cos * second
        return torch.concat((turned_first, turned_second), dim=-1)


def softmax(x):
    scaled = x - torch.max(x, dim=-1, keepdim=True)[0]
    powers = torch.exp(scaled)
    return powers / torch.sum(powers, dim=-1, keepdim=True)


def log_softmax(x):
    highest = torch.max(x, dim=-1, keepdim=True)[0]
    x = x - highest
    return x - torch.log(torch.sum(torch.exp(x), dim=-1, keepdim=True))


def cross_entropy(logits, targets):
    negative = -log_softmax(logits)
    return torch.mean(torch.gather(negative, -1, targets.unsqueeze(-1)))


def attention(queries, keys, values, mask):
    scores = einsum(queries, keys, "... query d, ... key d -> ... query key") / math.sqrt(keys.shape[-1])
    scores = torch.where(mask, scores, float("-inf"))
    weights = softmax(scores)
    return einsum(weights, values, "... query key, ... key d -> ... query d")


class Attention(nn.Module):
    def __init__(self, width, heads, rotary):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (Linear(width, width) for _ in range(4))
        self.rotary = rotary

    def positions(self, length, device):
        return ()

    def mask(self, every):
        mask = rearrange(every, "query -> query 1") >= rearrange(every, "key -> 1 key")
        return mask[None, ...]

    def forward(self, x, positions=None):
        q, k, v = self.q(x), self.k(x), self.v(x)
        q, k, v = (rearrange(it, "... length (heads d) -> ... heads length d", heads=self.heads) for it in (q, k, v))
        positions = self.positions(x.size(1), x.device)
        q = self.rotary(q, *positions)
        k = self.rotary(k, *positions)
        every = torch.arange(x.size(1), device=x.device)
        mask = self.mask(every)
        attended = attention(q, k, v, mask)
        attended = rearrange(attended, "batch heads length d -> batch length (heads d)").contiguous()
        return self.out(attended)


class Attention2025(Attention):
    def positions(self, length, device):
        import einx

        positions = einx.rearrange("length -> b... length", torch.arange(length, device=device), b=[1])
        return (rearrange(positions, "... length -> ... 1 length"),)

    def mask(self, every):
        import einx

        query = einx.rearrange("query -> b... 1 query 1", every, b=[1])
        return query >= einx.rearrange("key -> b... 1 1 key", every, b=[1])


class Inner(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.w1, self.w2, self.w3 = Linear(width, inner), Linear(inner, width), Linear(width, inner)

    def forward(self, x):
        return self.w2(silu(self.w1(x)) * self.w3(x))


def silu(x):
    return x * torch.sigmoid(x)


class Block(nn.Module):
    def __init__(self, attention, width, inner):
        super().__init__()
        self.attention = attention
        self.inner = Inner(width, inner)
        self.norm1, self.norm2 = Norm(width), Norm(width)

    def forward(self, x):
        attended = self.attention(self.norm1(x))
        middle = x + attended
        inner = self.inner(self.norm2(middle))
        return middle + inner


class Model(nn.Module):
    def __init__(self, year, size, length):
        super().__init__()
        self.year = year
        width, inner, layers, heads = SIZES[size]
        rotary, attention = {2025: (Rotary2025, Attention2025), 2026: (Rotary2026, Attention)}[year]
        self.embedding = Embedding(width)
        self.rotary = rotary(length, width // heads)
        self.layers = nn.ModuleList(Block(attention(width, heads, self.rotary), width, inner) for _ in range(layers))
        self.norm = Norm(width)
        self.head = Linear(width, VOCABULARY)

    def forward(self, x):
        x = embedded = self.embedding(x)
        if self.year == 2025:
            del embedded
        for layer in self.layers:
            x = layer(x)
        x = self.norm(x)
        return self.head(x)


class AdamW(torch.optim.Optimizer):
    """The course's optimizer of 2026: no parameter shares a kernel with another."""

    def __init__(self, parameters):
        super().__init__(parameters, {})

    def step(self):
        for parameter in self.param_groups[0]["params"]:
            if parameter.grad is None:
                continue
            gradient, state = parameter.grad.data, self.state[parameter]
            parameter.data -= 1e-5 * parameter.data
            before_m = state.get("m", torch.zeros_like(gradient))
            before_v = state.get("v", torch.zeros_like(gradient))
            m = 0.9 * before_m + (0.1 * gradient)
            v = 0.999 * before_v + (0.001 * torch.square(gradient))
            parameter.data -= 1e-3 * m / (torch.sqrt(v) + 1e-8)
            state["m"], state["v"] = m, v
