"""Deconvolves light-sheet stacks of a mouse brain and writes each as a preview."""
import torch

from neurons.deblur import Deblur, sharpened


def stacks(n, shape=(446, 1536, 1536)):
    for number in range(n):
        yield f"stack-{number:02}", torch.empty(shape)


def main(n=8):
    deblur = Deblur()
    for name, volume in sharpened(stacks(n), deblur):
        preview = volume.amax(0).cpu()
        print(name, tuple(preview.shape), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=100_000)
    try:
        main()
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("sharpen_neurons.pickle")
        print(error)
        raise
