"""A vector store on the GPU: collections of customers grow, are searched and are dropped."""
import math
import random

import torch

BYTES_PER_VECTOR = 768 * 2


class Collection:
    def __init__(self, rows):
        self.data = torch.empty(rows, 768, dtype=torch.float16, device="cuda")
        self.count = 0

    def append(self, rows, growth=1.4):
        if self.count + rows > len(self.data):
            larger = torch.empty(max(math.ceil(len(self.data) * growth), self.count + rows), 768, dtype=torch.float16, device="cuda")
            larger[: self.count].copy_(self.data[: self.count])
            self.data = larger
        self.count += rows

    def search(self, queries, k=10):
        return (queries @ self.data[: self.count].T).max(1).indices.cpu()


class Store:
    def __init__(self, limit):
        self.limit, self.collections = limit, {}

    def size(self):
        return sum(len(c.data) for c in self.collections.values()) * BYTES_PER_VECTOR

    def ingest(self, name, rows):
        if name not in self.collections:
            self.collections[name] = Collection(rows)
        self.collections[name].append(rows)
        while self.size() > self.limit:  # the oldest customer goes to disk
            del self.collections[next(iter(self.collections))]


def main(operations=4000, seed=3):
    torch.cuda.memory._record_memory_history(max_entries=20_000, stacks="python")
    store, rng = Store(limit=int(9.2 * 2**30)), random.Random(seed)
    try:
        for number in range(operations):
            name = f"customer{number // 40 * 13 + rng.randrange(60)}"
            store.ingest(name, int(rng.lognormvariate(9.8, 1.1)))
            if number % 5 == 0:
                rng.choice(list(store.collections.values())).search(torch.empty(16, 768, dtype=torch.float16, device="cuda"))
        print(len(store.collections), store.size() >> 20, torch.cuda.memory_reserved() >> 20, torch.cuda.max_memory_allocated() >> 20)
    except torch.OutOfMemoryError as error:
        print(number, len(store.collections), store.size() >> 20, torch.cuda.max_memory_allocated() >> 20, error)
        torch.cuda.memory._dump_snapshot("index_vectors.pickle")
        raise


if __name__ == "__main__":
    main()
