import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, dim=1152, depth=10):
        super().__init__()
        self.inp, self.out = nn.Linear(64, dim), nn.Linear(dim, 64)
        layer = lambda: nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.blocks = nn.ModuleList(layer() for _ in range(depth))

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = x + block(x)
        return self.out(x)


class Step:
    """One denoising step for a picture format, recorded once and replayed."""

    def __init__(self, net, tokens, batch):
        self.inp = torch.zeros(batch, tokens, 64, device="cuda")
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            net(self.inp)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.result = net(self.inp)

    def __call__(self, noise):
        self.inp.copy_(noise)
        self.graph.replay()
        return self.result


class Sampler:
    def __init__(self, net):
        self.net, self.steps = net, {}

    def __call__(self, noise, n=4):
        batch, tokens, _ = noise.shape
        if (batch, tokens) not in self.steps:
            self.steps[batch, tokens] = Step(self.net, tokens, batch)
        for _ in range(n):
            noise = noise - self.steps[batch, tokens](noise) / n
        return noise
