"""Adapters on a 2.8B GPT-NeoX for a support desk; plain loop, bf16."""
import peft
import torch
import transformers


def base():
    config = transformers.GPTNeoXConfig(vocab_size=50_304, hidden_size=2560, num_hidden_layers=32, num_attention_heads=32, intermediate_size=10_240, use_cache=False)
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = transformers.GPTNeoXForCausalLM(config)
        torch.set_default_dtype(torch.float32)
    return model


def tickets(batch, length):
    while True:
        ids = torch.full((batch, length), 11, device="cuda")
        yield {"input_ids": ids, "labels": ids}


def fit(model, steps, batch, length):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=2e-4)
    for step, ticket in zip(range(steps), tickets(batch, length)):
        loss = model(**ticket).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        print(step, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(stacks="python", max_entries=60_000)
    adapters = peft.LoraConfig(task_type="CAUSAL_LM", r=8, lora_alpha=16, target_modules=["query_key_value"])
    model = base()
    model = peft.get_peft_model(model, adapters)
    try:
        fit(model, steps=3, batch=12, length=1024)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("adapt_pythia.pickle")
        raise
