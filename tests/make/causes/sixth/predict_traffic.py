"""Speeds of all roads of a city half an hour ahead; a graph network over sampled districts."""
import torch
from torch import nn
import torch.nn.functional as F

from roads.graphconv import RoadConv


class TrafficNet(nn.Module):
    def __init__(self, past=12, dim=32):
        super().__init__()
        self.first, self.second, self.out = RoadConv(past, dim), RoadConv(dim, dim), nn.Linear(dim, 6)

    def forward(self, x, edges):
        x = F.relu(self.first(x, edges))
        return self.out(F.relu(self.second(x, edges)))


def districts(steps):
    for step in range(steps):
        roads = 180_000 + 9973 * step % 20_000
        edges = torch.zeros(2, roads * 4, dtype=torch.long)
        yield torch.empty(roads, 12), edges, torch.empty(roads, 6)


def train(steps=900):
    net = TrafficNet().cuda()
    optimizer = torch.optim.RAdam(net.parameters())
    for step, (x, edges, y) in enumerate(districts(steps)):
        x, edges, y = x.cuda(), edges.cuda(), y.cuda()
        loss = F.l1_loss(net(x, edges), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(step, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=10_000, stacks="python")
    try:
        train()
    except torch.OutOfMemoryError as error:
        print(error)
        torch.cuda.memory._dump_snapshot("predict_traffic.pickle")
        raise
