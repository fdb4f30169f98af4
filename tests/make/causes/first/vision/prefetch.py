import torch


class CudaPrefetcher:
    """Copies the next batches to the GPU on a side stream while the current one is used."""

    def __init__(self, loader):
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.preload()

    def preload(self):
        try:
            images = next(self.loader)
        except StopIteration:
            self.images = None
            return
        with torch.cuda.stream(self.stream):
            self.images = images.cuda(non_blocking=True).float().div_(255)

    def __iter__(self):
        while self.images is not None:
            torch.cuda.current_stream().wait_stream(self.stream)
            images = self.images
            images.record_stream(torch.cuda.current_stream())
            self.preload()
            yield images
