"""Crowd counting with a density map (CSRNet-like), ShanghaiTech."""
import logging

import torch
from torch.nn import BatchNorm2d, Conv2d, MaxPool2d, ReLU, Sequential

logging.basicConfig(level=logging.INFO, format="%(message)s")
FRONT = [64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512]
BACK = [512, 512, 512, 256, 128, 64]


def stack(plan, channels, dilation):
    layers = []
    for c in plan:
        if c == "M":
            layers.append(MaxPool2d(2))
        else:
            layers += [Conv2d(channels, c, 3, padding=dilation, dilation=dilation), BatchNorm2d(c), ReLU()]
            channels = c
    return layers


def csrnet():
    return Sequential(*stack(FRONT, 3, 1), *stack(BACK, 512, 2), Conv2d(64, 1, 1))


def step(net, optimizer, images, density):
    optimizer.zero_grad()
    loss = (net(images) - density).square().sum()
    loss.backward()
    optimizer.step()
    return loss.item()


def main(batch_size=14, side=(768, 1024)):
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    net = csrnet().cuda()
    optimizer = torch.optim.SGD(net.parameters(), 1e-7, momentum=0.95, weight_decay=5e-4)
    try:
        for i in range(10):
            images = torch.empty(batch_size, 3, *side).cuda(non_blocking=True)
            density = torch.empty(batch_size, 1, side[0] // 8, side[1] // 8).cuda(non_blocking=True)
            logging.info("%d %s %d", i, step(net, optimizer, images, density), torch.cuda.max_memory_allocated() >> 20)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("count_crowds.pickle")
        raise


if __name__ == "__main__":
    main()
