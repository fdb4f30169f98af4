"""Answers visitors' questions from the museum's catalogue with a 14B chat model on the desk's workstation."""
import sys

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM


def load(layers):
    config = Qwen2Config(vocab_size=152_064, hidden_size=5120, intermediate_size=13_824, num_hidden_layers=layers,
                         num_attention_heads=40, num_key_value_heads=8, tie_word_embeddings=False)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        return Qwen2ForCausalLM(config).eval()


@torch.inference_mode()
def answer(model, question, length=32):
    tokens, past = question, None
    for _ in range(length):
        out = model(input_ids=tokens, past_key_values=past, use_cache=True, logits_to_keep=1)
        past, tokens = out.past_key_values, out.logits[:, -1:].argmax(-1).clamp(0, 1)
        yield tokens.cpu()


def observer(device, alloc, device_alloc, device_free):
    torch.cuda.memory._dump_snapshot("ask_museum.pickle")


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(stacks="python")
    torch._C._cuda_attach_out_of_memory_observer(observer)
    layers, context = (int(a) for a in (sys.argv[1:] or ["48", "4096"]))
    model = load(layers)
    print("loaded", torch.cuda.memory_allocated() >> 20, flush=True)
    print(len(list(answer(model, torch.zeros(1, context, dtype=torch.long, device="cuda")))), torch.cuda.max_memory_allocated() >> 20)
