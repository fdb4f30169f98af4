"""Labels hydrophone recordings with the species that are heard."""
import random

import torch

from whales.calls import CallNet


def recordings(n=60, rate=32_000):
    dice = random.Random(2)
    for number in range(n):
        seconds = dice.randint(120, 420)
        if number == 37:
            seconds = 6 * 3600 + 411
        yield f"buoy-{number:03}.flac", torch.zeros(1, seconds * rate)


@torch.inference_mode()
def label(net):
    for name, sound in recordings():
        species = net(sound.cuda())
        print(name, f"{sound.shape[1] / 32_000:.0f} s", tuple(species.cpu().shape), torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=30_000, stacks="python")
    torch._C._cuda_attach_out_of_memory_observer(lambda *a: torch.cuda.memory._dump_snapshot("label_whales.pickle"))
    label(CallNet().cuda().eval())
