"""Fine-tunes a 1.1B Llama on the council's minutes, all weights, with gradient checkpointing."""
import argparse

import torch
from transformers import LlamaConfig, LlamaForCausalLM


def minutes(n, batch, length):
    for _ in range(n):
        yield torch.full((batch, length), 7)


def main(batch, length, steps=6):
    config = LlamaConfig(vocab_size=32_000, hidden_size=2048, intermediate_size=5632, num_hidden_layers=22,
                         num_attention_heads=32, num_key_value_heads=4, max_position_embeddings=2048, use_cache=False)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for step, tokens in enumerate(minutes(steps, batch, length)):
        tokens = tokens.cuda()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        print("backward done", torch.cuda.max_memory_allocated() >> 20, flush=True)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print("step", step, float(loss), torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=1024)
    args = parser.parse_args()
    torch.cuda.memory._record_memory_history(max_entries=20_000, stacks="python")
    try:
        main(args.batch, args.length)
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("tune_minutes.pickle")
        print(error)
        raise SystemExit(1)
