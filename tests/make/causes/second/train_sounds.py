"""Tag sounds of different lengths."""
import random

import torch
import torch.nn as nn

from models.sound import SoundTagger


def clips(count, batch_size=32, seed=5):
    rng = random.Random(seed)
    for _ in range(count):
        frames = rng.randrange(301, 1503)
        yield torch.empty(batch_size, 96, frames), torch.empty(batch_size, 527)


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model = SoundTagger().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    criterion = nn.BCEWithLogitsLoss()
    try:
        for step, (mel, tags) in enumerate(clips(200)):
            mel, tags = mel.cuda(), tags.cuda()
            optimizer.zero_grad()
            loss = criterion(model(mel), tags)
            loss.backward()
            optimizer.step()
            print("step", step, mel.shape[-1], loss.item(), torch.cuda.memory_allocated() >> 20, "MiB")
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("train_sounds.pickle")
        raise


if __name__ == "__main__":
    main()
