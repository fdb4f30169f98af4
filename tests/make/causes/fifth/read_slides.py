"""Tumour area in whole slide images: every tile through a small U-shaped net."""
import torch
from torch import nn

from slides.tiles import Reader


class TileNet(nn.Module):
    def __init__(self, classes=6, c=16):
        super().__init__()
        self.a, self.b, self.d = nn.Conv2d(3, c, 3, 2, 1), nn.Conv2d(c, 2 * c, 3, 2, 1), nn.Conv2d(2 * c, 2 * c, 3, padding=1)
        self.up, self.out = nn.ConvTranspose2d(2 * c, c, 2, 2), nn.ConvTranspose2d(2 * c, classes, 2, 2)

    def forward(self, x):
        a = torch.relu(self.a(x))
        b = torch.relu(self.d(torch.relu(self.b(a))))
        return self.out(torch.cat([a, self.up(b)], 1))


def tiles(n):
    for index in range(n):
        yield index, torch.empty(3, 1024, 1024)


def main():
    torch.cuda.memory._record_memory_history(max_entries=8000, stacks="python")
    reader = Reader(TileNet().cuda().eval())
    for slide, n in [("P-0113", 120), ("P-0114", 95), ("P-0120", 640)]:
        try:
            areas = reader.slide(tiles(n))
        except RuntimeError as e:
            print(slide, e)
            torch.cuda.memory._dump_snapshot("read_slides.pickle")
            raise
        print(slide, len(areas), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    main()
