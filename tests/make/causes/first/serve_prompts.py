"""Serve prompts of many lengths; prefixes are cached on the GPU."""
import random

import torch

from serving.prefix_cache import PrefixCache

GIB = 1 << 30


class Weights(torch.nn.Module):
    def __init__(self, layers=32, dim=2048):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(dim, dim * 4, bias=False) for _ in range(layers)])


def run(cache, rng, requests):
    for i in range(requests):
        key = int(rng.paretovariate(0.6)) % 4000
        if cache.lookup(key) is None:
            length = 64 + int(rng.expovariate(1 / 700)) if rng.random() < 0.7 else rng.randrange(1500, 7000)
            kv = cache.insert(key, length)
            hidden = torch.empty(length, 2048, dtype=torch.bfloat16, device="cuda")
            kv[0, 0, :, :, :].copy_(hidden[:, :1024].view(length, 8, 128).transpose(0, 1))


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    with torch.device("cuda"):
        model = Weights().to(torch.bfloat16)
    cache = PrefixCache(budget=int(18.5 * GIB))
    try:
        run(cache, random.Random(11), 20_000)
    except torch.cuda.OutOfMemoryError as error:
        print(error)
        print("in cache", cache.bytes / GIB)
        torch.cuda.memory._dump_snapshot("serve_prompts.pickle")
        raise


if __name__ == "__main__":
    main()
