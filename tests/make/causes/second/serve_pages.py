"""Search in scanned pages: the best patches of candidate pages for each question."""
import random

import torch

from serve.features import LateInteraction, PageCache

HEIGHTS = [1120, 1408, 1584, 1760, 2112, 2480]


def read(name):
    return torch.empty(1, 3, HEIGHTS[name % 6] * 2 // 16 * 16, 2480, dtype=torch.uint8).cuda()


@torch.inference_mode()
def main(questions=130):
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model, rng = LateInteraction().half().cuda(), random.Random(4)
    cache, best = PageCache(model), []
    for _ in range(questions):
        question = torch.empty(24, 256).half().cuda()
        for name in rng.sample(range(1500), 4):
            vectors = cache.get(name, read)[0]
            best.append((vectors @ question.T).amax(0).sum().cpu())
    print(len(cache.vectors), torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, torch.cuda.max_memory_allocated() >> 20, "MiB")
    torch.cuda.memory._dump_snapshot("serve_pages.pickle")


if __name__ == "__main__":
    main()
