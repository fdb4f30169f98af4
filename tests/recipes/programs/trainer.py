"""Hugging Face's Trainer, with a LoRA of PEFT."""
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

config = LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4)
model = get_peft_model(LlamaForCausalLM(config), LoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj", "v_proj"]))
rows = [{"input_ids": [1] * 32, "labels": [1] * 32} for _ in range(16)]
arguments = TrainingArguments(
    output_dir="out", max_steps=4, per_device_train_batch_size=2, report_to=[], save_strategy="no"
)
Trainer(model=model, args=arguments, train_dataset=rows).train()
