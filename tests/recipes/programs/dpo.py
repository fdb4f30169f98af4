"""TRL: preferences, with a reference model."""
from small import model, tokenizer
from datasets import Dataset
from trl import DPOConfig, DPOTrainer

rows = Dataset.from_list([{"prompt": "a b", "chosen": " c d e", "rejected": " f g"}] * 16)
arguments = DPOConfig(output_dir="out", max_steps=4, per_device_train_batch_size=2, report_to=[], save_strategy="no")
DPOTrainer(model=model(), ref_model=model(), args=arguments, train_dataset=rows, processing_class=tokenizer()).train()
