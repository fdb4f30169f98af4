import itertools

import torch


def blocks(beams=64, channels=512, samples=2048):
    """Filterbank blocks as they come from the recorder, on the GPU."""
    for number in itertools.count():
        yield number, torch.empty(beams, channels, samples // 4, dtype=torch.float16).cuda()


def split(n):
    """The same blocks for the search and for the noise report."""
    return itertools.tee(itertools.islice(blocks(), n))


def noise(stream):
    """Mean level per channel, over the whole observation."""
    total = sum(block.float().mean((0, 2)) for _, block in stream)
    return total.cpu()
