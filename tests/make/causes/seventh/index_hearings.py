"""Embeds the statements of parliamentary hearings, 64 at a time."""
import random

import torch
from transformers import BertConfig, BertModel


class Statements:
    """Token counts as in the archive: most are short; now and then somebody reads a report into the record."""

    def __init__(self, n, seed=5):
        dice = random.Random(seed)
        self.lengths = [min(600, int(dice.lognormvariate(5, 0.6))) + 8 for _ in range(n)]
        self.lengths[1837] = 21_804

    def batches(self, size):
        for start in range(0, len(self.lengths), size):
            yield self.lengths[start:start + size]


def pad(lengths):
    tokens = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    mask = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    return tokens.cuda(), mask.long().cuda()


@torch.inference_mode()
def embed(model, statements, size=64):
    vectors = []
    for lengths in statements.batches(size):
        tokens, mask = pad(lengths)
        hidden = model(input_ids=tokens, attention_mask=mask).last_hidden_state
        pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        vectors.append(torch.nn.functional.normalize(pooled, dim=-1).cpu())
        print(len(vectors), tuple(tokens.shape), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    return torch.cat(vectors)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=14_000, stacks="python")
    with torch.device("cuda"):
        model = BertModel(BertConfig(vocab_size=50_000, max_position_embeddings=32_768), add_pooling_layer=False).eval()
    try:
        print(embed(model, Statements(2600)).shape)
    except torch.OutOfMemoryError as error:
        print(error)
        torch.cuda.memory._dump_snapshot("index_hearings.pickle")
        raise SystemExit(1)
