"""Random search over the greenhouse model's size; this process runs the trials of slot 0."""
import torch

from tuner.slot import Slot
from tuner.trial import Trial


def main():
    slot = Slot(trials_per_gpu=6)
    for dim, depth, batch in [(256, 6, 32), (384, 8, 32), (512, 6, 48), (768, 10, 48), (1024, 12, 48)]:
        trial = Trial(dim, depth, batch, slot)
        print(dim, depth, batch, "peak", trial.epoch(), "MiB reserved", torch.cuda.memory_reserved() >> 20, flush=True)
        del trial


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    try:
        main()
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("grow_tomatoes.pickle")
        raise
