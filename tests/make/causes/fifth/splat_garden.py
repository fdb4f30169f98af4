"""3D Gaussian splatting of a botanical garden."""
import random

import torch

from garden.render import render
from garden.splats import Splats


def train(iterations=900, start=1_200_000, most=7_800_000):
    dice = random.Random(11)
    scene = Splats(start)
    for iteration in range(iterations):
        seen = dice.randint(len(scene) // 8, len(scene) // 2)
        picture = render(scene, seen)
        loss = (picture - torch.zeros(900, 3).cuda()).abs().mean()
        loss.backward()
        scene.optimizer.step()
        scene.optimizer.zero_grad()
        if iteration % 10 == 9:
            if len(scene) < most:
                scene.clone(int(len(scene) * dice.uniform(0.02, 0.09)))
            scene.prune(int(len(scene) * dice.uniform(0.0, 0.03)))
        if iteration % 50 == 0:
            print(iteration, len(scene), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=9000, stacks="python")
    try:
        train()
    except torch.OutOfMemoryError as e:
        print(e)
        torch.cuda.memory._dump_snapshot("splat_garden.pickle")
        raise
