from functools import lru_cache

import torch


@lru_cache(maxsize=None)
def grid(height, width, dim, device):
    """Sine and cosine of the row and of the column of each patch."""
    scale = 10_000 ** (-torch.arange(dim // 4, device=device) / (dim // 4))
    rows = torch.arange(height, device=device)[:, None] * scale
    columns = torch.arange(width, device=device)[:, None] * scale
    rows = torch.cat([rows.sin(), rows.cos()], -1)[:, None].expand(-1, width, -1)
    columns = torch.cat([columns.sin(), columns.cos()], -1)[None].expand(height, -1, -1)
    return torch.cat([rows, columns], -1).flatten(0, 1)
