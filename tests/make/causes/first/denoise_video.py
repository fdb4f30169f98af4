"""Denoise a video, with batches of frames prefetched on a side stream."""
import ctypes

import torch
import torch.nn as nn

from vision.prefetch import CudaPrefetcher


class Denoiser(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        return x - self.conv2(torch.relu(self.conv1(x)))


def frames(batches, size=8):
    for _ in range(batches):
        yield torch.empty(size, 3, 1080, 1920, dtype=torch.uint8)


@torch.no_grad()
def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model = Denoiser().cuda().half().float()
    ctypes.CDLL(None).standin_hold(1)  # the stand-in for a GPU that lags behind: kernels are queued, events do not complete
    for images in CudaPrefetcher(frames(24)):
        clean = model(images).clamp_(0, 1).mul_(255).byte()
        del images, clean
    torch.cuda.memory._dump_snapshot("denoise_video.pickle")


if __name__ == "__main__":
    main()
