"""Applicants and job advertisements: two towers, the sparse ids hashed into one long table."""
import torch
from torch import nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, table, dim, out=64):
        super().__init__()
        self.table = table
        self.net = nn.Sequential(nn.Linear(dim, 512), nn.ReLU(), nn.Linear(512, out))

    def forward(self, ids):
        return F.normalize(self.net(self.table(ids)), dim=-1)


class Matcher(nn.Module):
    def __init__(self, rows=22_000_000, dim=160):
        super().__init__()
        self.table = nn.EmbeddingBag(rows, dim, mode="sum", sparse=True, device="cuda", _weight=torch.empty(rows, dim, device="cuda"))
        self.person, self.job = Tower(self.table, dim).cuda(), Tower(self.table, dim).cuda()

    def forward(self, person, job):
        return self.person(person) @ self.job(job).T / 0.05


def train(steps=100, batch=4096):
    model = Matcher()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    for step in range(steps):
        person, job = (torch.zeros(batch, 24, dtype=torch.long).cuda() for _ in range(2))
        loss = F.cross_entropy(model(person, job), torch.arange(batch, device="cuda"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(step, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=100_000)
    try:
        train()
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("match_jobs.pickle")
        print(error)
        raise
