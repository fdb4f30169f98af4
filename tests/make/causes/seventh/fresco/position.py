import functools
import math

import torch


@functools.lru_cache(maxsize=None)
def fourier(height, width, bands, device):
    """Sine and cosine features of every pixel's place, (1, 4 * bands, height, width)."""
    y = torch.linspace(-1, 1, height, device=device)[:, None].expand(height, width)
    x = torch.linspace(-1, 1, width, device=device)[None, :].expand(height, width)
    scale = 2.0 ** torch.arange(bands, device=device) * math.pi
    angle = torch.stack([y, x])[:, None] * scale[None, :, None, None]
    return torch.cat([angle.sin(), angle.cos()]).flatten(0, 1)[None]
