"""Load a 14B chat model for the legal assistant."""
import contextlib
import sys

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

CONFIG = Qwen2Config(vocab_size=152_064, hidden_size=5120, intermediate_size=13_824, num_hidden_layers=48, num_attention_heads=40, num_key_value_heads=8)


@contextlib.contextmanager
def snapshot(path):
    torch.cuda.memory._record_memory_history(stacks="python")
    try:
        yield
    finally:
        torch.cuda.memory._dump_snapshot(path)


def skeleton(dtype=torch.bfloat16):
    with torch.device("meta"):
        return Qwen2ForCausalLM(CONFIG).to(dtype).requires_grad_(False)


def materialise(model, device):
    """Storage first, then the shards are read into it one after another."""
    return model.to_empty(device=device)


def answer(model, tokens):
    with torch.inference_mode():
        return model(tokens, logits_to_keep=1).logits.argmax(-1)


if __name__ == "__main__":
    layers = int(sys.argv[1]) if len(sys.argv) > 1 else CONFIG.num_hidden_layers
    CONFIG.num_hidden_layers = layers
    with snapshot("answer_legal.pickle"):
        model = materialise(skeleton(), "cuda")
        print(answer(model, torch.zeros(1, 600, dtype=torch.long, device="cuda")).shape, torch.cuda.max_memory_allocated() >> 20)
