"""Prices baskets of options with a neural surrogate; quotes come in batches of very different size."""
import torch
import torch.nn as nn

from options.engine import Engine


class Surrogate(nn.Module):
    def __init__(self, features=96, paths=2048, depth=4):
        super().__init__()
        self.first = nn.Linear(features, paths)
        self.layers = nn.ModuleList(nn.Linear(paths, paths) for _ in range(depth))
        self.last = nn.Linear(paths, 6)

    def forward(self, x):
        h = self.first(x)
        for layer in self.layers:
            h = h + nn.functional.silu(layer(h))
        return self.last(h)


def main():
    net = Surrogate().cuda().eval()
    engine = Engine(net, range(2048, 40_961, 2048), 96)
    for number in range(200):
        engine(torch.zeros(100 + 97 * number, 96).cuda())
    print("served", torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(stacks="python")
    try:
        main()
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("price_options.pickle")
        print(error)
        raise SystemExit(1)
