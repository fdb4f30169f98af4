"""Continue the training of a small diffusion model on a laptop: `write` makes a checkpoint, otherwise it resumes from it."""
import copy
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

PATH = "/tmp/unet.pt"


class Block(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.norm, self.conv1, self.conv2 = nn.GroupNorm(8, a), nn.Conv2d(a, b, 3, padding=1), nn.Conv2d(b, b, 3, padding=1)
        self.skip = nn.Conv2d(a, b, 1)

    def forward(self, x):
        return self.skip(x) + self.conv2(F.silu(self.conv1(F.silu(self.norm(x)))))


class UNet(nn.Module):
    def __init__(self, widths=(192, 384, 768, 1024)):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, widths[0], 3, padding=1), nn.Conv2d(widths[0], 3, 3, padding=1)
        self.down = nn.ModuleList(nn.Sequential(Block(a, b), Block(b, b)) for a, b in zip((widths[0],) + widths, widths))
        self.up = nn.ModuleList(nn.Sequential(Block(a + b, b), Block(b, b)) for a, b in zip(widths[::-1], widths[-2::-1] + (widths[0],)))

    def forward(self, x):
        x, skips = self.first(x), []
        for n, block in enumerate(self.down):
            x = block(x if n == 0 else F.avg_pool2d(x, 2))
            skips.append(x)
        for block in self.up:
            skip = skips.pop()
            y = F.interpolate(x, size=skip.shape[-2:])
            x = block(torch.cat([y, skip[:, : block[0].conv1.in_channels - y.shape[1]]], 1))
        return self.last(x)


def write(path):
    model = UNet()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    torch.save({"model": model.state_dict(), "ema": copy.deepcopy(model).state_dict(), "optimizer": optimizer.state_dict(), "step": 41_000}, path)


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model = UNet().cuda()
    ema = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    start = 0
    if "fresh" not in sys.argv:
        checkpoint = torch.load(PATH, map_location="cuda")
        model.load_state_dict(checkpoint["model"])
        ema.load_state_dict(checkpoint["ema"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        start = checkpoint["step"]
    try:
        for step in range(start, start + 4):
            x, noise = torch.empty(10, 3, 64, 64).cuda(), torch.randn(10, 3, 64, 64, device="cuda")
            loss = F.mse_loss(model(x + noise), noise)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            with torch.no_grad():
                for e, p in zip(ema.parameters(), model.parameters()):
                    e.lerp_(p, 1e-3)
            print(step, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("resume_diffusion.pickle")
        raise


if __name__ == "__main__":
    write(PATH) if "write" in sys.argv else main()
