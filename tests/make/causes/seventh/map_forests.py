"""Tree species from Sentinel-2: a map tile by tile, with the mean probability of every species per tile."""
import torch

from forests.net import CoverNet

SPECIES = 28


def tiles(n, side):
    for number in range(n):
        yield number, torch.empty(1, 10, side, side)


@torch.no_grad()
def survey(net, side):
    shares = []
    for number, tile in tiles(12, side):
        logits = net(tile.cuda())
        probs = logits.softmax(1)
        cover = probs.argmax(1).to(torch.uint8).cpu()
        shares.append(probs.mean((2, 3)).cpu())
        print("tile", number, tuple(cover.shape), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    return torch.cat(shares).mean(0)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(stacks="python")
    net = CoverNet(SPECIES).cuda().eval()
    try:
        print(survey(net, 4800))
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("map_forests.pickle")
        print(error)
        raise SystemExit(1)
