"""One vector per herbarium sheet (a ViT's class token), for a search by picture."""
import argparse

import torch
from transformers import ViTConfig, ViTModel


def sheets(n, batch):
    for first in range(0, n, batch):
        yield range(first, min(n, first + batch)), torch.empty(min(batch, n - first), 3, 224, 224)


@torch.inference_mode()
def index(model, n, batch):
    names, vectors = [], []
    for numbers, pictures in sheets(n, batch):
        hidden = model(pixel_values=pictures.cuda(non_blocking=True)).last_hidden_state
        vectors.append(hidden[:, 0])
        names += [f"sheet-{number}" for number in numbers]
        if len(vectors) % 25 == 0:
            print(len(names), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    return names, torch.cat(vectors).cpu()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sheets", type=int, default=60_000)
    parser.add_argument("--batch", type=int, default=96)
    args = parser.parse_args()
    torch.cuda.memory._record_memory_history(max_entries=9000)
    torch._C._cuda_attach_out_of_memory_observer(lambda *a: torch.cuda.memory._dump_snapshot("index_herbarium.pickle"))
    with torch.device("cuda"):
        model = ViTModel(ViTConfig(), add_pooling_layer=False).eval()
    names, vectors = index(model, args.sheets, args.batch)
    print("indexed", len(names), tuple(vectors.shape))
