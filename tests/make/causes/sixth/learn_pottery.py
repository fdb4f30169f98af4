"""Continual learning of pottery types, excavation by excavation."""
import torch

from pottery.network import SherdNet


def excavations(n):
    for site in range(n):
        yield site, 12 + 7 * site % 30, [(torch.empty(32, 3, 224, 224), torch.zeros(32, dtype=torch.long)) for _ in range(4)]


def main(sites=24):
    net = SherdNet().cuda()
    for site, classes, batches in excavations(sites):
        net.begin_site(classes)
        optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.01)
        for x, y in batches:
            loss = net.loss(x.cuda(), y.cuda())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        print("site", site, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=14_000, stacks="python")
    try:
        main()
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("learn_pottery.pickle")
        print(error)
        raise
