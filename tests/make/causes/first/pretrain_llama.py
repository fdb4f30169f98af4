"""Pretrain a 1B Llama with a large vocabulary."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM


def build_model():
    config = LlamaConfig(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
                         num_key_value_heads=8, vocab_size=128256, tie_word_embeddings=True, use_cache=False)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.gradient_checkpointing_enable()
    return model.train()


def train(model, steps, batch_size=8, seq_len=4096):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    for step in range(steps):
        ids = torch.randint(0, 128256, (batch_size, seq_len)).cuda()
        output = model(input_ids=ids, labels=ids)
        output.loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def main():
    torch.cuda.memory._record_memory_history(max_entries=200_000, stacks="python")
    model = build_model()
    try:
        train(model, 4)
    finally:
        torch.cuda.memory._dump_snapshot("pretrain_llama.pickle")


if __name__ == "__main__":
    main()
