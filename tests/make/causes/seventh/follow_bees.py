"""Recognises marked bees at the entrances of an apiary: every camera has its own resolution and its own pace."""
import argparse
import random

import torch

from bees.encoder import Encoder
from bees.memory import HiveMemory


@torch.inference_mode()
def follow(frames, hives=18, seed=4):
    dice = random.Random(seed)
    net = Encoder().cuda().eval().half()
    memories = [HiveMemory(dice.randrange(7, 16)) for _ in range(hives)]
    for number in range(frames):
        memory = memories[min(dice.randrange(hives), dice.randrange(hives))]
        height, width = dice.randrange(400, 1100), dice.randrange(600, 1500)
        frame = torch.empty(1, 3, height, width).cuda().half()
        memory.remember(net(frame))
        if number % 5 == 4:
            query = torch.zeros(1, 64, 256, device="cuda", dtype=torch.half)
            best = (query @ memory.gallery()).amax(-1).cpu()
        if number % 50 == 0:
            print(number, tuple(best.shape) if number else "", torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20,
                  torch.cuda.memory_reserved() >> 20, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=900)
    args = parser.parse_args()
    torch.cuda.memory._record_memory_history(max_entries=40_000, stacks="python")
    try:
        follow(args.frames)
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("follow_bees.pickle")
        print(error)
        raise SystemExit(1)
