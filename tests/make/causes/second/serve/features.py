from collections import OrderedDict

import torch
import torch.nn as nn


class LateInteraction(nn.Module):
    """One vector per patch of a page."""

    def __init__(self, dim=768, out=256):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, 16, stride=16)
        self.mix = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.out = nn.Linear(dim, out)

    def forward(self, page):
        x = self.patch(page.half().div_(255)).flatten(2).transpose(1, 2)
        return self.out(x + self.mix(x))


class PageCache:
    """The vectors of the pages used last, at most `pages` of them."""

    def __init__(self, model, pages=320):
        self.model, self.pages, self.vectors = model, pages, OrderedDict()

    def get(self, name, read):
        if name in self.vectors:
            self.vectors.move_to_end(name)
        else:
            self.vectors[name] = self.model(read(name))
            if len(self.vectors) > self.pages:
                self.vectors.popitem(last=False)
        return self.vectors[name]
