"""Monocular depth on NYUv2."""
import argparse

import torch
from torch.utils.data import DataLoader, TensorDataset

from depth.engine import Engine
from depth.net import DepthNet


def make_loader(pictures, batch_size):
    return DataLoader(TensorDataset(torch.empty(pictures, 3, 480, 640), torch.empty(pictures, 1, 480, 640)), batch_size)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=12)
    parser.add_argument("--val-batch-size", type=int, default=40)
    parser.add_argument("--lr", type=float, default=1e-4)
    return parser.parse_args()


def main(args):
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model = DepthNet().cuda()
    engine = Engine(model, torch.optim.AdamW(model.parameters(), lr=args.lr))
    train, val = make_loader(args.batch_size * 8, args.batch_size), make_loader(120, args.val_batch_size)
    try:
        for epoch in range(args.epochs):
            print("train", engine.train_epoch(train), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
            print("val", engine.validate(val), torch.cuda.max_memory_allocated() >> 20, flush=True)
    finally:
        torch.cuda.memory._dump_snapshot("train_depth.pickle")


if __name__ == "__main__":
    main(parse())
