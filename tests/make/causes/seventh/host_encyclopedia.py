"""An encyclopedia's question service: an 8B model with paged keys and values."""
import random
import sys

import torch

from ency.blocks import BlockPool
from ency.model import Decoder


@torch.inference_mode()
def serve(requests, seed=8):
    dice = random.Random(seed)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = Decoder(128_256, 4096, 32, 32, 8, 14_336).eval()
    pool = BlockPool(32, 8, 128)
    print("pages", pool.pages, torch.cuda.memory_allocated() >> 20, flush=True)
    for number in range(requests):
        length = dice.randrange(300, 6000)
        pages = pool.take(length + 64)
        tokens = torch.zeros(1, length, dtype=torch.long).cuda()
        for _ in range(4):
            tokens = model(tokens, pool, pages)[None].clamp(0, 1)
        pool.give(pages)
        print(number, length, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    torch.cuda.memory._dump_snapshot("host_encyclopedia.pickle")


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=16_000, stacks="python")
    serve(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
