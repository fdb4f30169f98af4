import os

import torch


class Slot:
    """A trial's place on the card, as the scheduler cut it."""

    def __init__(self, trials_per_gpu):
        self.share = 1 / trials_per_gpu

    def take(self):
        torch.cuda.memory.set_per_process_memory_fraction(float(os.environ.get("SLOT_SHARE", self.share)), 0)
