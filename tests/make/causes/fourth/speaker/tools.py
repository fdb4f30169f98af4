import gc
from contextlib import contextmanager

import torch


@contextmanager
def tidy():
    """Leave the card as clean as it was found."""
    try:
        yield
    finally:
        gc.collect()
        torch.cuda.empty_cache()
