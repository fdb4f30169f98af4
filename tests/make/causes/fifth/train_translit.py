"""Transliteration of place names between scripts: a GRU encoder-decoder over a joint vocabulary of pieces."""
import torch
from torch import nn

from optim.kron import Kron


class Translit(nn.Module):
    def __init__(self, pieces=52_000, d=256):
        super().__init__()
        self.pieces = nn.Embedding(pieces, d)
        self.read = nn.GRUCell(d, d)
        self.write = nn.GRUCell(d, d)
        self.out = nn.Linear(d, 2_048)

    def forward(self, source, target):
        h = self.pieces.weight.new_zeros(len(source), self.read.hidden_size)
        for column in self.pieces(source).unbind(1):
            h = self.read(column, h)
        rows = []
        for column in self.pieces(target).unbind(1):
            h = self.write(column, h)
            rows.append(self.out(h))
        return torch.stack(rows, 1)


def main(batch=256):
    torch.cuda.memory._record_memory_history(stacks="python")
    net = Translit().cuda()
    optimizer = Kron(net.parameters(), lr=2e-3)
    try:
        for step in range(30):
            source, target = torch.zeros(2, batch, 12, dtype=torch.long).cuda()
            loss = nn.functional.cross_entropy(net(source, target).flatten(0, 1), target.flatten() % 2048)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("train_translit.pickle")
        raise
    print("done", torch.cuda.max_memory_allocated() >> 20)


if __name__ == "__main__":
    main()
