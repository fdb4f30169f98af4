"""Replays a robot's night shift: submaps are made, extended by new scans, and dropped for others."""
import random

import torch

from submaps.store import Store

torch.set_grad_enabled(False)


def shift(hours, store, seed=29):
    dice = random.Random(seed)
    for minute in range(hours * 60):
        key = f"aisle{dice.randint(0, 400)}"
        if key not in store.maps:
            store.make(key, int(dice.lognormvariate(14.2, 0.7)))
        elif dice.random() < 0.7:
            store.grow(key, int(dice.lognormvariate(12.4, 0.8)))
        scan = torch.empty(120_000, 3).cuda()
        near = (store.maps[key][: 120_000, :3].float() - scan[: len(store.maps[key])]).norm(dim=-1)
        near.amin().item()
        if minute % 60 == 0:
            print(minute // 60, len(store.maps), torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=20_000, stacks="python")
    try:
        shift(60, Store(voxels=190_000_000))
    except torch.OutOfMemoryError as error:
        print(error)
        torch.cuda.memory._dump_snapshot("merge_submaps.pickle")
        raise
