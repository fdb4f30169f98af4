import torch
import torch.nn as nn


def pairwise_distances(points):
    """Squared distances between all points."""
    points = points.reshape(-1, points.shape[-1])
    norms = (points**2).sum(-1)
    return norms[:, None] - 2 * points @ points.T + norms[None, :]


class EdgeConv(nn.Module):
    def __init__(self, cin, cout, k=20):
        super().__init__()
        self.k = k
        self.mlp = nn.Sequential(nn.Linear(2 * cin, cout), nn.ReLU(), nn.Linear(cout, cout))

    def forward(self, x, points):
        neighbours = pairwise_distances(points).topk(self.k, largest=False).indices
        flat = x.reshape(-1, x.shape[-1])
        edges = torch.cat([flat[:, None].expand(-1, self.k, -1), flat[neighbours]], -1)
        return self.mlp(edges).amax(1).view(*x.shape[:2], -1)


class PointClassifier(nn.Module):
    def __init__(self, classes=40, width=128):
        super().__init__()
        self.lift = nn.Linear(3, width)
        self.edge1, self.edge2 = EdgeConv(width, width), EdgeConv(width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, points):
        x = torch.relu(self.lift(points))
        x = self.edge1(x, points)
        x = self.edge2(x, points)
        return self.head(x.amax(1))
