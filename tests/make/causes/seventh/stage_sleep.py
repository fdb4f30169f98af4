"""Sleep staging from overnight EEG; after each epoch Cohen's kappa over all held-out nights."""
import argparse

import torch
from torch.nn.functional import cross_entropy

from sleep.net import Stager


def nights(n, batch):
    for _ in range(n):
        yield torch.empty(batch, 120, 4, 3000), torch.zeros(batch, 120, dtype=torch.long)


def kappa(scores, stages, classes=5):
    guess, truth = scores.argmax(-1).flatten().clamp(0, 4), stages.flatten()
    table = torch.zeros(classes * classes).scatter_add_(0, truth * classes + guess, torch.ones(len(truth))).view(classes, classes)
    expected = table.sum(0) @ table.sum(1) / table.sum()
    return float((table.trace() - expected) / (table.sum() - expected + 1e-9))


def evaluate(net, loader):
    net.eval()
    scores, stages = [], []
    for x, y in loader:
        scores.append(net(x.cuda()))
        stages.append(y)
    return kappa(torch.cat(scores).cpu(), torch.cat(stages))


def main(epochs, held_out):
    net = Stager().cuda()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, weight_decay=0.05)
    for epoch in range(epochs):
        net.train()
        for x, y in nights(12, batch=4):
            loss = cross_entropy(net(x.cuda()).flatten(0, 1), y.cuda().flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        print("trained", epoch, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
        print("kappa", evaluate(net, nights(held_out, batch=2)), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--held-out", type=int, default=90)
    args = parser.parse_args()
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    try:
        main(args.epochs, args.held_out)
    except torch.OutOfMemoryError as error:
        print(error)
        torch.cuda.memory._dump_snapshot("stage_sleep.pickle")
        raise SystemExit(1)
