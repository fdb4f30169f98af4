"""Pulsar search over an observation of an array's beams."""
import sys

import torch

from pulsar.search import Dedisperse
from pulsar.stream import noise, split


@torch.inference_mode()
def observe(n):
    model = Dedisperse().cuda().eval()
    search, report = split(n)
    candidates = []
    for number, block in search:
        candidates.append((number, model(block).cpu()))
        if number % 50 == 0:
            print("block", number, torch.cuda.memory_allocated() >> 20, "MiB", flush=True)
    return candidates, noise(report)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=4000)

    def observer(device, alloc, device_alloc, device_free):
        torch.cuda.memory._dump_snapshot("screen_pulsars.pickle")

    torch._C._cuda_attach_out_of_memory_observer(observer)
    found, levels = observe(int(sys.argv[1]) if len(sys.argv) > 1 else 700)
    print(len(found), levels.shape, torch.cuda.max_memory_allocated() >> 20)
