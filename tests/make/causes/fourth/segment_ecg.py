"""ECG delineation; after each epoch the F1 over the whole held-out set."""
import itertools
import sys

import torch
import torch.nn.functional as F

from ecg.segment import ECGSegmenter


def records(n, batch):
    for start in range(0, n, batch):
        k = min(batch, n - start)
        yield torch.empty(k, 12, 5000), torch.zeros(k, 5000, dtype=torch.long)


def macro_f1(probabilities, targets):
    p, t = probabilities.argmax(1), targets
    return sum((2 * ((p == c) & (t == c)).sum() / ((p == c).sum() + (t == c).sum() + 1)).item() for c in range(4)) / 4


def train_epoch(net, opt):
    net.train()
    for leads, labels in records(480, 48):
        loss = F.cross_entropy(net(leads.cuda()), labels.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()


def evaluate(net):
    net.eval()
    probabilities, targets = [], []
    for leads, labels in records(2400, 48):
        probabilities.append(net(leads.cuda()).softmax(1))
        targets.append(labels.cuda())
    return macro_f1(torch.cat(probabilities), torch.cat(targets))


def main():
    torch.cuda.memory._record_memory_history(max_entries=20_000, stacks="python")
    net = ECGSegmenter().cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for epoch in itertools.count():
        train_epoch(net, opt)
        print("epoch", epoch, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
        print("f1", evaluate(net), torch.cuda.max_memory_allocated() >> 20, flush=True)
        if epoch == 1:
            break


if __name__ == "__main__":
    try:
        main()
    except torch.OutOfMemoryError as e:
        torch.cuda.memory._dump_snapshot("segment_ecg.pickle")
        sys.exit(f"out of memory: {e}")
