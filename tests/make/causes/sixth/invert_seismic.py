"""Full-waveform inversion of a marine survey with L-BFGS."""
import argparse

import torch

from seismic.lbfgs import LBFGS
from seismic.wave import Earth


def misfit(earth, lines):
    loss = torch.zeros((), device="cuda")
    for line in lines:
        heard = earth.shot(line)
        loss = loss + (heard - torch.zeros(heard.shape).cuda()).square().mean()
    return loss


def main(rounds, history):
    earth = Earth((320, 480, 640))
    optimizer = LBFGS(earth.velocity, rate=0.5, history=history)
    for number in range(rounds):
        lines = range(number % 40, 320, 40)

        def closure():
            earth.velocity.grad = None
            loss = misfit(earth, lines)
            loss.backward()
            return loss

        optimizer.step(closure)
        print("round", number, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--history", type=int, default=100)
    args = parser.parse_args()
    torch.cuda.memory._record_memory_history(max_entries=18_000, stacks="python")
    try:
        main(args.rounds, args.history)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("invert_seismic.pickle")
        raise
