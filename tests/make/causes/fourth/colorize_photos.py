"""Colour for an archive of black-and-white photographs."""
import pathlib
import queue
import threading

import torch
from torch import nn

WIDTHS = (64, 128, 256, 256)


def double(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GELU(), nn.Conv2d(b, b, 3, padding=1), nn.GELU())


class Colorizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.ModuleList([double(a, b) for a, b in zip((1, *WIDTHS), WIDTHS)])
        self.dec = nn.ModuleList([double(a + b, b) for a, b in zip(WIDTHS[:0:-1], WIDTHS[-2::-1])])
        self.ab = nn.Conv2d(WIDTHS[0], 2, 1)

    def forward(self, l):
        skips = []
        for stage in self.enc[:-1]:
            l = stage(l)
            skips.append(l)
            l = nn.functional.max_pool2d(l, 2)
        l = self.enc[-1](l)
        for stage in self.dec:
            l = stage(torch.cat([nn.functional.interpolate(l, scale_factor=2.0), skips.pop()], 1))
        return self.ab(l)


def reader(shelf, out, batch):
    for _ in range(shelf // batch):
        out.put(torch.empty(batch, 1, 768, 768))
    out.put(None)


def main(shelf=96, batch=4):
    torch.cuda.memory._record_memory_history(max_entries=10_000, stacks="python")
    net = Colorizer().cuda().eval()
    photos = queue.Queue(2)
    threading.Thread(target=reader, args=(shelf, photos, batch), daemon=True).start()
    done = 0
    try:
        with torch.inference_mode():
            while (grey := photos.get()) is not None:
                colours = net(grey.cuda()).clamp(-1, 1).cpu()
                done += len(colours)
    except torch.OutOfMemoryError as e:
        print(done, torch.cuda.memory_allocated() >> 20, e)
        torch.cuda.memory._dump_snapshot(str(pathlib.Path(__file__).with_suffix(".pickle")))
        raise
    print(done, torch.cuda.max_memory_allocated() >> 20, torch.cuda.max_memory_reserved() >> 20)


if __name__ == "__main__":
    main()
