"""Inpaints damaged frescoes, one photograph after the other, each at the size it was taken in."""
import random
import sys

import torch

from fresco.restorer import Restorer


def photographs(n, seed=11):
    dice = random.Random(seed)
    for number in range(n):
        yield f"fresco_{number:04}", torch.empty(1, 3, dice.randrange(480, 900), dice.randrange(480, 900))


@torch.inference_mode()
def restore(net, photos):
    for name, photo in photos:
        repaired = net(photo.cuda()).clamp(0, 1).cpu()
        yield name, repaired


def main(n):
    net = Restorer().cuda().eval()
    for number, (name, picture) in enumerate(restore(net, photographs(n))):
        if number % 10 == 0:
            print(name, tuple(picture.shape), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(stacks="python")
    try:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 150)
    except torch.OutOfMemoryError as e:
        print(e)
        torch.cuda.memory._dump_snapshot("restore_frescoes.pickle")
        sys.exit(1)
