"""House rules of the shared GPU server. Import before anything else."""
import os

import torch

SLICE = float(os.getenv("TENANT_SLICE", "0.3"))


def claim(device=0):
    torch.cuda.set_device(device)
    torch.cuda.set_per_process_memory_fraction(SLICE, device)
