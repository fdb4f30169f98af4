import os
from dataclasses import dataclass, field


@dataclass
class Settings:
    hidden: int = 4096
    layers: int = 32
    kv_heads: int = 8
    head_dim: int = 128
    block: int = 16  # tokens
    gpu_share: float = field(default_factory=lambda: float(os.environ.get("GPU_SHARE", 0.25)))
    kv_share: float = 0.2  # of the free memory
