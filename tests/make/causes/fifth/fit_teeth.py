"""Signed distance fields for dental scans: one latent code and three feature planes per jaw."""
import argparse

import torch

from teeth.fit import Fitter


def scans(n):
    for number in range(n):
        yield f"jaw{number:04d}", torch.empty(60_000, 3), torch.zeros(60_000)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--scans", type=int, default=420)
    p.add_argument("--steps", type=int, default=6)
    options = p.parse_args()
    torch.cuda.memory._record_memory_history(max_entries=12_000, stacks="python")
    fitter = Fitter()
    try:
        for name, points, distances in scans(options.scans):
            code, planes = fitter.fit(points, distances, options.steps)
            if name.endswith("0"):
                print(name, tuple(planes.shape), torch.cuda.memory_allocated() >> 20, flush=True)
    except torch.cuda.OutOfMemoryError as error:
        print("at", name, error)
        torch.cuda.memory._dump_snapshot("fit_teeth.pickle")
        raise
    print("fitted", torch.cuda.max_memory_allocated() >> 20)


if __name__ == "__main__":
    main()
