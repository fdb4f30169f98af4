"""LoRA on Mistral 7B with the Trainer."""
import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import Dataset
from transformers import MistralConfig, MistralForCausalLM, Trainer, TrainingArguments

LORA = LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], task_type="CAUSAL_LM")


class Packed(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        ids = torch.full((4096,), 7)
        return {"input_ids": ids, "labels": ids}


def base_model():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda"):
            return MistralForCausalLM(MistralConfig(sliding_window=None, use_cache=False))
    finally:
        torch.set_default_dtype(before)


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model = get_peft_model(base_model(), LORA)
    model.print_trainable_parameters()
    args = TrainingArguments("/tmp/lora", per_device_train_batch_size=2, max_steps=3, bf16=True, report_to=[], save_strategy="no",
                             dataloader_pin_memory=False, disable_tqdm=True, gradient_checkpointing=False)
    try:
        Trainer(model=model, args=args, train_dataset=Packed()).train()
        print(torch.cuda.max_memory_allocated() >> 20)
    finally:
        torch.cuda.memory._dump_snapshot("lora_mistral.pickle")


if __name__ == "__main__":
    main()
