"""Random search for a bearing fault classifier; the best settings are kept, the networks are not."""
import random

import torch

from bearings.trial import Trial


def settings(n, seed=3):
    dice = random.Random(seed)
    for _ in range(n):
        yield {"width": dice.choice([256, 384, 512, 768]), "depth": dice.choice([4, 6, 8]), "lr": 10 ** dice.uniform(-4.5, -3)}


def search(trials):
    best = None, -1.0
    for number, chosen in enumerate(settings(trials)):
        trial = Trial(**chosen)
        score = trial.run()
        if score > best[1]:
            best = chosen, score
        print(number, chosen["width"], chosen["depth"], torch.cuda.memory_allocated() >> 20, flush=True)
        del trial
    return best


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=15_000, stacks="python")
    try:
        print(search(80))
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("search_bearings.pickle")
        raise
