"""Ensemble of protein language models that ranks antibody variants by pseudo-likelihood."""
import argparse

import torch
from transformers import EsmConfig, EsmForMaskedLM

SIZES = {"650M": dict(hidden_size=1280, num_hidden_layers=33, num_attention_heads=20, intermediate_size=5120)}


def load(size, seed):
    """One member; all five were trained from different seeds."""
    torch.manual_seed(seed)
    config = EsmConfig(vocab_size=33, mask_token_id=32, pad_token_id=1, position_embedding_type="rotary", token_dropout=True, **SIZES[size])
    with torch.device("meta"):
        model = EsmForMaskedLM(config)
    return model.to_empty(device="cuda").eval()


@torch.inference_mode()
def rank(members, variants):
    total = 0
    for member in members:
        logits = member(input_ids=variants).logits
        total = total + logits.log_softmax(-1).gather(-1, variants[..., None]).sum((1, 2)).cpu()
    return total.argsort(descending=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--members", type=int, default=5)
    p.add_argument("--variants", type=int, default=64)
    options = p.parse_args()
    torch.cuda.memory._record_memory_history(stacks="python")
    try:
        members = [load("650M", seed) for seed in range(options.members)]
        print(rank(members, torch.zeros(options.variants, 250, dtype=torch.long, device="cuda"))[:5], torch.cuda.max_memory_allocated() >> 20)
    except torch.OutOfMemoryError as error:
        print(error)
        torch.cuda.memory._dump_snapshot("rank_antibodies.pickle")
        raise


if __name__ == "__main__":
    main()
