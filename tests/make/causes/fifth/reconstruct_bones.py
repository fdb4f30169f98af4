"""Micro-CT of a bone sample, 768 cubed."""
import torch

from tomo.sirt import Sirt

LATE = 20


@torch.no_grad()
def main(side=768, angles=90, iterations=30):
    measured = torch.empty(angles, side, side).cuda()
    solver = Sirt(side, angles)
    for iteration in range(iterations):
        if iteration == LATE:
            torch.cuda.memory._record_memory_history(stacks="python")
        rest = solver.step(measured)
        if iteration % 5 == 0:
            print(iteration, float(rest), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, flush=True)
    torch.save(solver.volume[:4].half().cpu(), "/tmp/bone.pt")
    torch.cuda.memory._dump_snapshot("reconstruct_bones.pickle")


if __name__ == "__main__":
    main()
