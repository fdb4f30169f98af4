from dataclasses import dataclass


@dataclass
class FoldConfig:
    crop: int = 320
    pair_dim: int = 128
    heads: int = 4
    blocks: int = 24
    bins: int = 64
    lr: float = 1e-3
    batch: int = 1
