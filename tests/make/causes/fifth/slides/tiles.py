from concurrent.futures import ThreadPoolExecutor, as_completed

import torch


class Reader:
    """Segments a slide's tiles in two worker threads."""

    def __init__(self, net, workers=2):
        self.net, self.pool = net, ThreadPoolExecutor(workers)

    @torch.inference_mode()
    def tile(self, index, pixels):
        probs = self.net(pixels.cuda()[None]).softmax(1)
        return index, probs

    def slide(self, tiles):
        waiting = [self.pool.submit(self.tile, index, pixels) for index, pixels in tiles]
        areas = {}
        for future in as_completed(waiting):
            index, probs = future.result()
            areas[index] = probs[:, 1:].sum((2, 3)).cpu()
        return areas
