"""Chambers and vessels in cardiac CT, trained on patches."""
import argparse

import torch

from hearts.unet3d import UNet3d


def patches(n, batch, shape):
    for _ in range(n):
        yield torch.empty(batch, 1, *shape), torch.zeros(batch, *shape, dtype=torch.long)


def dice(probs, labels, classes):
    target = torch.nn.functional.one_hot(labels, classes).movedim(-1, 1)
    overlap = (probs * target).sum((2, 3, 4))
    return 1 - (2 * overlap / (probs.sum((2, 3, 4)) + target.sum((2, 3, 4)) + 1e-5)).mean()


def main(args):
    torch.cuda.memory._record_memory_history()
    net = UNet3d(classes=8).cuda()
    optimizer = torch.optim.SGD(net.parameters(), 0.01, momentum=0.99, nesterov=True)
    for step, (ct, labels) in enumerate(patches(args.steps, args.batch, (args.side, args.side, args.depth))):
        ct, labels = ct.cuda(), labels.cuda()
        logits = net(ct)
        loss = torch.nn.functional.cross_entropy(logits, labels) + dice(logits.softmax(1), labels, 8)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--side", type=int, default=192)
    parser.add_argument("--depth", type=int, default=128)
    parser.add_argument("--steps", type=int, default=4)
    args = parser.parse_args()
    try:
        main(args)
    except torch.cuda.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("segment_hearts.pickle")
        print(error)
        raise SystemExit(1)
