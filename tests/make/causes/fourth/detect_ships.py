"""Ship detection on Sentinel-1 scenes."""
import torch

from ships.model import ShipDetector

# boxes in each scene of the sixteen batches (harbours have many)
COUNTS = [[3, 18, 7, 41], [0 + 1, 12, 66, 5], [9, 31, 2, 17], [83, 4, 26, 1], [14, 52, 8, 3], [6, 6, 190, 2], [21, 1, 37, 11],
          [5, 9, 3, 28], [2, 2, 70, 16], [33, 4, 8, 1], [7, 15, 11, 4870], [1, 24, 13, 6], [10, 3, 5, 95]]


def scenes():
    for counts in COUNTS:
        images = torch.empty(len(counts), 1, 1024, 1024)
        yield images.cuda(), [torch.zeros(n, 4, device="cuda") for n in counts]


def main():
    torch.cuda.memory._record_memory_history(max_entries=40_000, stacks="python")
    torch.manual_seed(0)
    net = ShipDetector().cuda()
    sgd = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    try:
        for i, (images, targets) in enumerate(scenes()):
            loss = net(images, targets)
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            print(i, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    finally:
        torch.cuda.memory._dump_snapshot("detect_ships.pickle")


if __name__ == "__main__":
    main()
