"""Bin picking: which grasp next? CUDA graphs keep the latency low."""
import random

import torch

from grasp.planner import GraspNet, Planner


def scenes(n):
    dice = random.Random(5)
    for _ in range(n):
        yield torch.empty(20_000, 3), torch.empty(dice.randint(500, 24_000), 7)


def main():
    torch.cuda.memory._record_memory_history(stacks="python")
    planner = Planner(GraspNet().cuda().eval())
    for cloud, grasps in scenes(150):
        planner.best(cloud, grasps)
    print(len(planner.plans), torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)
    torch.cuda.memory._dump_snapshot("pick_parts.pickle")


if __name__ == "__main__":
    main()
