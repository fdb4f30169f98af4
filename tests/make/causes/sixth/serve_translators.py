"""Translates between the languages of the Union; a small model per pair, loaded when it is asked for."""
import random

import torch

from langs.zoo import Zoo

LANGS = "bg cs da de el en es et fi fr ga hr hu it lt lv mt nl pl pt ro sk sl sv".split()


@torch.inference_mode()
def serve(requests=600, budget=8100 << 20):
    dice = random.Random(4)
    zoo = Zoo(budget)
    for number in range(requests):
        pair = tuple(dice.sample(LANGS, 2))
        model = zoo.get(pair)
        texts = torch.zeros(dice.randint(1, 24), dice.randint(40, 360), dtype=torch.long).cuda()
        states = model(texts)
        if number % 50 == 0:
            print(number, "-".join(pair), len(zoo.models), torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, tuple(states.shape), flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=16_000, stacks="python")
    try:
        serve()
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("serve_translators.pickle")
        print(error)
        raise
