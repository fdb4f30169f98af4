"""Where does each vessel stop? Means of AIS reports per vessel."""
import random

import torch


def reports(days, n=200_000, vessels=9_000, seed=7):
    """Per day: identity, four features. A vessel is known by its MMSI."""
    dice = random.Random(seed)
    inland = [dice.randint(1_000, 60_000) for _ in range(vessels)]
    for day in range(days):
        ids = torch.tensor(dice.choices(inland, k=n))
        if day == 17:
            ids[4_411] = 636_019_825
        yield day, ids, torch.empty(n, 4)


def means(ids, values):
    last = int(ids.max()) + 1
    total = torch.zeros(last, values.shape[1], dtype=torch.float64, device="cuda")
    count = torch.zeros(last, device="cuda")
    ids = ids.cuda()
    total.index_add_(0, ids, values.double().cuda())
    count.index_add_(0, ids, torch.ones(len(ids), device="cuda"))
    return (total / count[:, None].clamp(min=1)).float()


def main():
    torch.cuda.memory._record_memory_history(stacks="python")
    try:
        for day, ids, values in reports(31):
            where = means(ids, values)
            slow = (where[:, 2] < 0.5).sum()
            print(day, tuple(where.shape), int(slow), torch.cuda.max_memory_allocated() >> 20, flush=True)
    except torch.OutOfMemoryError as error:
        print(day, error)
        torch.cuda.memory._dump_snapshot("map_vessels.pickle")
        raise


if __name__ == "__main__":
    main()
