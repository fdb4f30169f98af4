"""A sparse wake-word model: an MLP mixer over log-mel frames, pruned while it trains."""
import torch
from torch import nn
import torch.nn.functional as F

from wakeword.sparse import Sparsifier


class Mixer(nn.Module):
    def __init__(self, dim, frames):
        super().__init__()
        self.time, self.up, self.down = nn.Linear(frames, frames), nn.Linear(dim, 3 * dim), nn.Linear(3 * dim, dim)

    def forward(self, x):
        x = x + self.time(x.transpose(1, 2)).transpose(1, 2)
        return x + self.down(F.gelu(self.up(x)))


class WakeNet(nn.Module):
    def __init__(self, dim=1536, words=36, frames=98):
        super().__init__()
        self.inp = nn.Linear(80, dim)
        self.body = nn.Sequential(*[Mixer(dim, frames) for _ in range(3)])
        self.out = nn.Linear(dim, words)

    def forward(self, x):
        return self.out(self.body(F.relu(self.inp(x))).mean(1))


def main(steps=600):
    model = WakeNet().cuda()
    sparse = Sparsifier(model, total=steps)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(steps):
        mel, word = torch.empty(64, 98, 80).cuda(), torch.zeros(64, dtype=torch.long).cuda()
        loss = F.cross_entropy(model(mel), word)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sparse.step(step)
        if step % 20 == 0:
            print(f"{step} density {sparse.density(step):.2f} allocated {torch.cuda.memory_allocated() >> 20} peak {torch.cuda.max_memory_allocated() >> 20}", flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=12_000, stacks="python")
    try:
        main()
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("sparsify_wakeword.pickle")
        raise
