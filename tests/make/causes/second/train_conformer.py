"""Speech recognition; utterances of a batch are padded to the longest."""
import torch
import torch.nn.functional as F

from models.conformer import Conformer

SECONDS = [11.2, 14.9, 9.4, 16.3, 12.8, 15.1, 13.7, 10.6, 16.0, 34.6, 12.2, 14.4]  # longest of each batch


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model = Conformer().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    try:
        for step, seconds in enumerate(SECONDS):
            mel = torch.empty(64, int(seconds * 100), 80).cuda()
            tokens = torch.zeros(64, mel.shape[1] // 4, dtype=torch.long).cuda()
            optimizer.zero_grad()
            loss = F.cross_entropy(model(mel).flatten(0, 1), tokens.flatten())
            loss.backward()
            optimizer.step()
            print("step", step, mel.shape, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_allocated() >> 20, flush=True)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("train_conformer.pickle")
        raise


if __name__ == "__main__":
    main()
