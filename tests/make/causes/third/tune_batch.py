"""Find the largest batch size that fits, then train an MLP-Mixer with it."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Mixer(nn.Module):
    def __init__(self, tokens=196, dim=768, depth=12, classes=1000):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, 16, 16)
        self.token_mix = nn.ModuleList([nn.Sequential(nn.Linear(tokens, 384), nn.GELU(), nn.Linear(384, tokens)) for _ in range(depth)])
        self.channel_mix = nn.ModuleList([nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)) for _ in range(depth)])
        self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(2 * depth)])
        self.head = nn.Linear(dim, classes)

    def forward(self, images):
        x = self.patch(images).flatten(2).transpose(1, 2)
        for i, (tokens, channels) in enumerate(zip(self.token_mix, self.channel_mix)):
            x = x + tokens(self.norms[2 * i](x).transpose(1, 2)).transpose(1, 2)
            x = x + channels(self.norms[2 * i + 1](x))
        return self.head(x.mean(1))


class Tuner:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.failures = {}

    def step(self, batch_size):
        images = torch.empty(batch_size, 3, 224, 224).cuda()
        labels = torch.zeros(batch_size, dtype=torch.long).cuda()
        loss = F.cross_entropy(self.model(images), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def largest(self, sizes):
        for size in sizes:
            try:
                self.step(size)
                return size
            except torch.OutOfMemoryError as error:
                torch.cuda.empty_cache()
                self.failures[size] = error
        torch.cuda.memory._dump_snapshot("tune_batch.pickle")
        raise RuntimeError(f"none of {list(self.failures)} fits") from error_of(self.failures)


def error_of(failures):
    return list(failures.values())[-1]


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model = Mixer().cuda()
    tuner = Tuner(model, torch.optim.AdamW(model.parameters(), lr=1e-3))
    size = tuner.largest([1024, 512, 256, 128, 64, 32, 16])
    for _ in range(3):
        print(size, tuner.step(size), torch.cuda.max_memory_allocated() >> 20)


if __name__ == "__main__":
    main()
