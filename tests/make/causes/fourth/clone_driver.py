#!/usr/bin/env python
"""Behaviour cloning: front camera clips -> steering angle, speed and a planned path."""
import torch
import torch.nn as nn

from drive.losses import steering_losses
from drive.meters import MeterBook

CLIP, HORIZON, BATCH = 8, 40, 16


class Driver(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = [3, 24, 36, 48, 64]
        self.eye = nn.ModuleList(nn.Conv2d(a, b, 5, 2) for a, b in zip(sizes, sizes[1:]))
        self.memory = nn.ModuleList([nn.Linear(64 + 256, 256), nn.Linear(64 + 256, 256)])
        self.steer, self.speed, self.path = nn.Linear(256, 1), nn.Linear(256, 1), nn.Linear(256, HORIZON * 2)

    def forward(self, clip):
        b, t = clip.shape[:2]
        x = clip.flatten(0, 1)
        for conv in self.eye:
            x = torch.relu(conv(x))
        x = x.mean((2, 3)).view(b, t, -1)
        h = x.new_zeros(b, 256)
        for step in range(t):
            joined = torch.cat([x[:, step], h], -1)
            gate = torch.sigmoid(self.memory[0](joined))
            h = gate * h + (1 - gate) * torch.tanh(self.memory[1](joined))
        return {"steer": self.steer(h)[:, 0], "speed": self.speed(h)[:, 0], "plan": self.path(h).view(b, HORIZON, 2)}


def main():
    driver = Driver().cuda()
    optimizer = torch.optim.AdamW(driver.parameters())
    book = MeterBook()
    torch.cuda.memory._record_memory_history(max_entries=6000, stacks="python")
    try:
        for iteration in range(400):
            clip = torch.empty(BATCH, CLIP, 3, 66, 200).cuda()
            steer, speed = torch.zeros(2, BATCH).cuda()
            losses = steering_losses(driver, clip, steer, speed)
            optimizer.zero_grad()
            losses["loss"].backward(retain_graph=False)
            optimizer.step()
            book.log({"loss": losses["loss"].detach(), "symmetry": losses["symmetry"]}, len(clip))
            if iteration % 40 == 0:
                print(iteration, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    except torch.cuda.OutOfMemoryError:
        print("iteration", iteration)
        torch.cuda.memory._dump_snapshot("clone_driver.pickle")
        raise


if __name__ == "__main__":
    main()
