"""ComplEx link prediction on a company knowledge graph (6.6 million entities)."""
import argparse
import dataclasses

import torch


@dataclasses.dataclass
class Options:
    entities: int = 6_600_000
    relations: int = 1_200
    rank: int = 96
    batch: int = 4096
    negatives: int = 64
    lr: float = 0.05


class ComplEx(torch.nn.Module):
    def __init__(self, o):
        super().__init__()
        self.entity = torch.nn.Embedding(o.entities, 2 * o.rank, device="cuda")
        self.relation = torch.nn.Embedding(o.relations, 2 * o.rank, device="cuda")

    def score(self, s, r, o):
        (a, b), (c, d), (e, f) = self.entity(s).chunk(2, -1), self.relation(r).chunk(2, -1), self.entity(o).chunk(2, -1)
        return ((a * c - b * d) * e + (a * d + b * c) * f).sum(-1)


class Trainer:
    def __init__(self, options):
        self.o = options
        self.model = ComplEx(options)
        self.optimizer = torch.optim.RMSprop(self.model.parameters(), lr=options.lr, momentum=0.5, centered=True)

    def sample(self):
        o = self.o
        draw = lambda high, *shape: torch.zeros(*shape, dtype=torch.long, device="cuda")
        return draw(o.entities, o.batch, 1), draw(o.relations, o.batch, 1), draw(o.entities, o.batch, 1 + o.negatives)

    def step(self):
        scores = self.model.score(*self.sample())
        loss = torch.nn.functional.cross_entropy(scores, torch.zeros(self.o.batch, dtype=torch.long, device="cuda"))
        loss.backward()
        print("loss", loss.item(), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
        self.optimizer.step()
        self.optimizer.zero_grad()


def parse():
    parser = argparse.ArgumentParser()
    for field in dataclasses.fields(Options):
        parser.add_argument("--" + field.name, type=field.type, default=field.default)
    return Options(**vars(parser.parse_args()))


if __name__ == "__main__":
    options = parse()
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    try:
        trainer = Trainer(options)
        for _ in range(5):
            trainer.step()
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("link_knowledge.pickle")
        raise
