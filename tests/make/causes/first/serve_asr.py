"""Transcription service: one model, requests of several lengths."""
import random

import torch

from asr.encoder import AsrEncoder
from serving.worker import Worker


def requests(count, rng):
    for _ in range(count):
        yield torch.zeros(4, rng.choice([1200, 1600, 2100, 2400, 2800, 3000]), 80)


@torch.inference_mode()
def main():
    torch.cuda.memory._record_memory_history(max_entries=200_000, stacks="python")
    model = AsrEncoder().cuda().eval()
    worker = Worker(model)
    for request in requests(120, random.Random(3)):
        worker.handle(request)
    print(worker.done, len(worker.failures), torch.cuda.memory_allocated() >> 20, "MiB")
    torch.cuda.memory._dump_snapshot("serve_asr.pickle")


if __name__ == "__main__":
    main()
