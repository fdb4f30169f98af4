"""What lies on the conveyor of a sorting plant: Lightning training."""
import os
import sys

import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset

from waste.module import WasteSegmenter


class Belt(Dataset):
    def __init__(self, n, side=384):
        self.n, self.side = n, side

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return torch.empty(3, self.side, self.side), torch.zeros(self.side, self.side, dtype=torch.long)


def main(epochs):
    L.seed_everything(7, verbose=False)
    trainer = L.Trainer(max_epochs=epochs, accelerator="gpu", devices=1, precision="32-true", logger=False,
                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(WasteSegmenter(), DataLoader(Belt(96), batch_size=8), DataLoader(Belt(48), batch_size=8))
    print("epochs", trainer.current_epoch, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=24_000, stacks="python")
    try:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
    except torch.OutOfMemoryError as error:
        print(error)
        torch.cuda.memory._dump_snapshot("sort_waste.pickle")
        sys.exit(1)
