"""Restores and doubles the frames of a digitised 16 mm film (576 x 768)."""
import sys

import torch

from film.network import Restorer


def reels(n, batch=6):
    for _ in range(n):
        yield torch.zeros(batch, 3, 576, 768)


def main(n):
    net = Restorer().cuda().eval()
    for p in net.parameters():
        p.data.mul_(0.1)
    for number, frames in enumerate(reels(n)):
        out = net(frames.cuda()).clamp(0, 1)
        frames = out.mul(255).byte().cpu()
        print("reel", number, tuple(frames.shape), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history()
    try:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    except RuntimeError as error:
        torch.cuda.memory._dump_snapshot("upscale_film.pickle")
        print(error)
        raise
