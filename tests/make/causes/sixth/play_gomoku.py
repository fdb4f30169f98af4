"""Self-play of five in a row on 19 x 19 with a learnt model; sixteen tables in step."""
import random

import torch
from torch import nn

from gomoku.tree import Node, search


class Net(nn.Module):
    def __init__(self, dim=192):
        super().__init__()
        self.see = nn.Conv2d(3, dim, 3, padding=1)
        self.move = nn.Embedding(361, dim)
        self.body = nn.Sequential(nn.Conv2d(dim, dim, 3, padding=1), nn.ReLU(), nn.Conv2d(dim, dim, 3, padding=1))

    def represent(self, boards):
        return torch.relu(self.see(boards))

    def dynamics(self, state, move):
        x = state + self.move.weight[move][:, None, None]
        return torch.relu(state + self.body(x))


@torch.no_grad()
def play(net, moves=150, tables=16):
    dice = random.Random(5)
    root = Node(net.represent(torch.zeros(tables, 3, 19, 19, device="cuda")))
    record = []
    for number in range(moves):
        move = search(root, net, dice)
        record.append(move)
        root = root.children[move]
        if number % 10 == 0:
            print("move", number, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    return record


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=15_000, stacks="python")
    try:
        print("played", len(play(Net().cuda().eval())))
    except RuntimeError:
        torch.cuda.memory._dump_snapshot("play_gomoku.pickle")
        raise
