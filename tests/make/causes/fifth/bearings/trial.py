import torch
from torch import nn

from . import hub


class Vibration(nn.Module):
    def __init__(self, width, depth, faults=10):
        super().__init__()
        self.embed = nn.Linear(64, width)
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, norm_first=True, dropout=0.0)
        self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Linear(width, faults)

    def forward(self, x):
        return self.head(self.body(self.embed(x)).mean(1))


class Trial:
    def __init__(self, width, depth, lr):
        self.net = Vibration(width, depth).cuda()
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=lr)
        self.best = 0.0
        hub.subscribe("stop", self.stop)

    def stop(self):
        self.net.train(False)

    def run(self, steps=8):
        for _ in range(steps):
            x, y = torch.empty(64, 128, 64).cuda(), torch.zeros(64, dtype=torch.long).cuda()
            with torch.autocast("cuda", torch.bfloat16):
                loss = nn.functional.cross_entropy(self.net(x), y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
        self.best = 1.0 - float(loss)
        return self.best
