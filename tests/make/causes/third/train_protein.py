"""Predict distances between residues (the pair track of a folding model)."""
import torch

from fold.config import FoldConfig
from fold.trainer import FoldTrainer


def on_oom(device, wanted, total, free):
    torch.cuda.memory._dump_snapshot("train_protein.pickle")


if __name__ == "__main__":
    torch.cuda.init()
    torch._C._cuda_attach_out_of_memory_observer(on_oom)
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    FoldTrainer(FoldConfig()).fit(4)
