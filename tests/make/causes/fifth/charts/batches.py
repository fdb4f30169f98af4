import random

import torch


def charts(n, seed=13):
    """Charts of similar size are batched together; patches x 768 and a caption of up to 96 pieces."""
    dice = random.Random(seed)
    for _ in range(n):
        patches = dice.choice([256, 320, 384, 448, 512])
        yield torch.empty(8, patches, 768), torch.zeros(8, dice.randint(32, 96), dtype=torch.long)
