"""Sentence embedding service."""
import random

import torch

from serving.embedder import Embedder, Service


@torch.inference_mode()
def main():
    torch.cuda.memory._record_memory_history(max_entries=50_000, stacks="python")
    rng = random.Random(5)
    service = Service(Embedder().cuda().half(), max_batch=256, max_length=512)
    service.warm_up()
    for _ in range(200):
        service.embed(torch.zeros(rng.randint(1, 8), rng.choice([32, 48, 64, 96]), dtype=torch.long))
    torch.cuda.memory._dump_snapshot("serve_embeddings.pickle")


if __name__ == "__main__":
    main()
