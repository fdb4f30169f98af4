"""Generate long texts with a Llama-style model and its KV cache."""
import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM


def build():
    config = LlamaConfig(hidden_size=2048, intermediate_size=5632, num_hidden_layers=16, num_attention_heads=16,
                         num_key_value_heads=8, vocab_size=32000, max_position_embeddings=8192)
    with torch.device("cuda"):
        return LlamaForCausalLM(config).to(torch.bfloat16).eval()


@torch.inference_mode()
def generate(model, prompt, new_tokens, cache):
    tokens = prompt
    pieces = []
    for _ in range(new_tokens):
        output = model(input_ids=tokens, past_key_values=cache, use_cache=True, logits_to_keep=1)
        tokens = output.logits[:, -1].argmax(-1, keepdim=True)
        pieces.append(tokens.cpu())
    return torch.cat(pieces, 1)


def main():
    torch.cuda.memory._record_memory_history(max_entries=1_000_000, stacks="python")
    model = build()
    prompt = torch.randint(0, 32000, (128, 64)).cuda()
    cache = DynamicCache(config=model.config)
    text = generate(model, prompt, 150, cache)
    print(text.shape)
    torch.cuda.memory._dump_snapshot("generate_text.pickle")


if __name__ == "__main__":
    main()
