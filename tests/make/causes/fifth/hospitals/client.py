import copy

import torch
from torch import nn


def network(channels=12, width=256, depth=5, classes=27):
    layers = [nn.Conv1d(channels, width, 15, 2, 7), nn.ReLU()]
    for _ in range(depth):
        layers += [nn.Conv1d(width, width, 9, padding=4), nn.BatchNorm1d(width), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(width, classes))


class Hospital:
    def __init__(self, shared, name):
        self.name, self.net = name, copy.deepcopy(shared)

    def train(self, batches):
        optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        for x in batches:
            loss = nn.functional.cross_entropy(self.net(x.cuda()), torch.zeros(len(x), dtype=torch.long, device="cuda"))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        for p in self.net.parameters():
            p.grad = None
        return self.net.state_dict()
