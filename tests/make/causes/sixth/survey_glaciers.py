"""Ice velocities of Patagonia from pairs of satellite scenes."""
import random

import torch

from glaciers.mosaic import Mosaic


def pairs(n, dice):
    for number in range(n):
        rows = int(dice.uniform(1500, 8500))
        yield f"pair-{number:03}", torch.empty(rows, 5120), torch.empty(rows, 5120)


@torch.no_grad()
def survey(scenes=140, season=8):
    dice = random.Random(23)
    mosaic, names = Mosaic(), []
    for name, before, after in pairs(scenes, dice):
        mosaic.add(name, before.cuda(), after.cuda())
        names.append(name)
        if len(names) % season == 0:
            whole = mosaic.merge(names[-season:])
            print(name, whole.numel(), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, flush=True)
            del whole
        if len(names) > 90:
            gone = names.pop(0)
            del mosaic.fields[gone]


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=20_000, stacks="python")
    try:
        survey()
    except torch.OutOfMemoryError as error:
        print(error)
        torch.cuda.memory._dump_snapshot("survey_glaciers.pickle")
        raise
