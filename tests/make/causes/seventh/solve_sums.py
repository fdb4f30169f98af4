"""GRPO on school sums: groups of sampled answers, advantage within the group, clipped policy gradient."""
import argparse

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from sums.logprobs import token_logprobs


def rollout(group, prompt, answer):
    return torch.zeros(group, prompt + answer, dtype=torch.long, device="cuda"), torch.zeros(group, device="cuda")


def main(args):
    config = Qwen2Config(vocab_size=151_936, hidden_size=896, intermediate_size=4864, num_hidden_layers=args.layers, num_attention_heads=14,
                         num_key_value_heads=2, tie_word_embeddings=True, use_cache=False)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        policy = Qwen2ForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    policy.gradient_checkpointing_enable()
    policy.train()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-6)
    for step in range(5):
        tokens, reward = rollout(args.group, 256, args.answer)
        with torch.no_grad():
            old = token_logprobs(policy, tokens, 256)
        advantage = (reward - reward.mean()) / (reward.std() + 1e-4)
        ratio = (token_logprobs(policy, tokens, 256) - old).exp()
        loss = -torch.min(ratio * advantage[:, None], ratio.clamp(0.8, 1.2) * advantage[:, None]).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(step, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--group", type=int, default=16)
    parser.add_argument("--answer", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=24)
    torch.cuda.memory._record_memory_history(max_entries=20_000, stacks="python")
    try:
        main(parser.parse_args())
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("solve_sums.pickle")
        print(error)
        raise SystemExit(1)
