"""Full fine-tuning of a 7B Llama in bfloat16."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000)
    config = LlamaConfig(use_cache=False)  # the defaults are those of the 7B model
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = LlamaForCausalLM(config)
    model.gradient_checkpointing_enable()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    try:
        for step in range(3):
            ids = torch.randint(0, 32000, (1, 1024)).cuda()
            loss = model(input_ids=ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            print(step)
    except torch.cuda.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("sft_llama_7b.pickle")
        raise


if __name__ == "__main__":
    main()
