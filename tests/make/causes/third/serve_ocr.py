"""Read scanned letters of all sizes."""
import random

import torch

from ocr.reader import PageReader


def scans(count, seed=8):
    rng = random.Random(seed)
    for _ in range(count):
        yield torch.empty(1, 1, rng.randrange(60, 130) * 16 + rng.randrange(16), rng.randrange(45, 95) * 16)


@torch.inference_mode()
def read(model, page):
    page = page.cuda().half()
    return model(page[..., : page.shape[-2] // 16 * 16, :]).cpu()


def main():
    model = PageReader().cuda().half().eval()
    for number, page in enumerate(scans(500)):
        if number == 455:
            torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
        text = read(model, page)
    print(text.shape, torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, torch.cuda.max_memory_allocated() >> 20)
    torch.cuda.memory._dump_snapshot("serve_ocr.pickle")


if __name__ == "__main__":
    main()
