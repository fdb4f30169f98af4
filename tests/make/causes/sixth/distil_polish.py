"""Distils a Polish chat model into a small student with the same word list."""
import torch
import torch.nn.functional as F
from transformers import LlamaConfig, LlamaForCausalLM


def build(hidden, layers):
    config = LlamaConfig(vocab_size=262_144, hidden_size=hidden, intermediate_size=3 * hidden, num_hidden_layers=layers,
                         num_attention_heads=hidden // 64, num_key_value_heads=hidden // 128, tie_word_embeddings=True)
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    return model.to(torch.bfloat16).to_empty(device="cuda")


def distance(student, teacher, heat=2.0):
    log_p = F.log_softmax(student.float() / heat, -1)
    q = F.softmax(teacher.float() / heat, -1)
    return F.kl_div(log_p, q, reduction="batchmean") * heat ** 2


def main(steps=10, batch=8, length=1024):
    teacher = build(2048, 16).eval().requires_grad_(False)
    student = build(768, 8).train()
    optimizer = torch.optim.AdamW(student.parameters(), lr=2e-4)
    for step in range(steps):
        tokens = torch.zeros(batch, length, dtype=torch.long, device="cuda")
        with torch.no_grad():
            target = teacher(tokens, use_cache=False).logits
        loss = distance(student(tokens, use_cache=False).logits, target)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(step, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    try:
        main()
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("distil_polish.pickle")
        raise
