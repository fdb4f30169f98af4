"""A language model of song lyrics; every batch is as long as its longest song."""
import random
import sys

import torch
from accelerate.utils import release_memory

from lyrics.model import LyricsLM


def songs(steps, batch=24):
    dice = random.Random(6)
    for _ in range(steps):
        yield torch.zeros(batch, dice.randint(130, 640), dtype=torch.long)


def main(steps):
    model = LyricsLM().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, foreach=False)
    for step, tokens in enumerate(songs(steps)):
        with torch.autocast("cuda", torch.bfloat16):
            loss = model.loss(tokens.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        tokens, loss = release_memory(tokens, loss)
        s = torch.cuda.memory_stats()
        print(step, "peak", s["allocated_bytes.all.peak"] >> 20, "reserved", s["reserved_bytes.all.current"] >> 20, "mallocs", s["num_device_alloc"], "frees", s["num_device_free"], flush=True)
    torch.cuda.memory._dump_snapshot("train_lyrics.pickle")


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=24_000, stacks="python")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
