"""Meta-learning (MAML): new alphabets from five examples of each letter."""
import torch
from torch.func import functional_call

from alphabets.learner import adapt, network

WAYS, SHOTS = 20, 5


def task(side=56):
    y = torch.arange(WAYS).repeat_interleave(SHOTS)
    return torch.empty(len(y), 1, side, side), y, torch.empty(3 * WAYS, 1, side, side), torch.arange(WAYS).repeat(3)


def meta_step(net, optimizer, tasks):
    total = 0.0
    for _ in range(tasks):
        x, y, qx, qy = (t.cuda() for t in task())
        fast = adapt(net, x, y)
        total = total + torch.nn.functional.cross_entropy(functional_call(net, fast, (qx,)), qy)
    optimizer.zero_grad()
    (total / tasks).backward()
    optimizer.step()
    return total.item() / tasks


def main(tasks=32):
    net = network(WAYS).cuda()
    net(torch.empty(1, 1, 56, 56).cuda())
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    torch.cuda.memory._record_memory_history(stacks="python")
    try:
        for iteration in range(10):
            print(iteration, meta_step(net, optimizer, tasks), torch.cuda.max_memory_allocated() >> 20, flush=True)
    except RuntimeError as error:
        print(error)
        torch.cuda.memory._dump_snapshot("learn_alphabets.pickle")
        raise


if __name__ == "__main__":
    main()
