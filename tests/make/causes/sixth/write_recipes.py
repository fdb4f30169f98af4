"""Trains a small GPT on recipes and writes a few after each epoch to look at."""
import argparse

import torch
from transformers import GPT2Config, GPT2LMHeadModel


@torch.inference_mode()
def sample(model, n=48, length=64):
    model.eval()
    tokens = torch.zeros(n, 8, dtype=torch.long, device="cuda")
    past, words = None, [tokens]
    for _ in range(length):
        out = model(input_ids=words[-1], past_key_values=past, use_cache=True)
        past = out.past_key_values
        words.append(out.logits[:, -1:].argmax(-1).clamp(0, 1))
    model.train()
    return torch.cat(words, 1).cpu()


def main(epochs, steps=12):
    with torch.device("cuda"):
        model = GPT2LMHeadModel(GPT2Config(vocab_size=16_000, n_embd=512, n_layer=8, n_head=8, n_positions=512))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for epoch in range(epochs):
        for step in range(steps):
            tokens = torch.zeros(32, 256, dtype=torch.long).cuda()
            loss = model(input_ids=tokens, labels=tokens).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        recipes = sample(model)
        print("epoch", epoch, tuple(recipes.shape), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    torch.cuda.memory._dump_snapshot("write_recipes.pickle")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    torch.cuda.memory._record_memory_history(max_entries=22_000, stacks="python")
    main(args.epochs)
