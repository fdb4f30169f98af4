import torch
from torch import nn


class RoadConv(nn.Module):
    """Mean over a road's neighbours with symmetric normalisation; the normalisation of a graph is computed once."""

    norms = {}

    def __init__(self, inp, out):
        super().__init__()
        self.own, self.near = nn.Linear(inp, out), nn.Linear(inp, out)

    def norm(self, edges, n):
        if edges not in self.norms:
            ones = torch.ones(edges.shape[1], device=edges.device)
            degree = torch.zeros(n, device=edges.device).index_add_(0, edges[1], ones)
            scale = degree.clamp(min=1).rsqrt()
            self.norms[edges] = scale[edges[0]] * scale[edges[1]]
        return self.norms[edges]

    def forward(self, x, edges):
        weight = self.norm(edges, len(x))
        gathered = self.near(x)[edges[0]] * weight[:, None]
        return self.own(x) + torch.zeros_like(gathered[: len(x)]).index_add_(0, edges[1], gathered)
