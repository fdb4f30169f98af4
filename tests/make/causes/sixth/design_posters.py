"""Draws posters in whatever format the customer wants; four steps of a distilled diffusion transformer."""
import random

import torch

from sampler.steps import Denoiser, Sampler


@torch.inference_mode()
def main(orders=120):
    dice = random.Random(8)
    net = Denoiser().cuda().eval()
    sampler = Sampler(net)
    for number in range(orders):
        wide, high = dice.randint(40, 110), dice.randint(40, 110)
        latents = torch.empty(2, wide * high, 64, device="cuda")
        picture = sampler(latents)
        if number % 5 == 0:
            print(number, wide, high, torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=20_000, stacks="python")
    try:
        main()
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("design_posters.pickle")
        print(error)
        raise
