"""TRL: supervised fine-tuning."""
from small import model, tokenizer
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

rows = Dataset.from_list([{"text": "a b c d e f g h"}] * 16)
arguments = SFTConfig(output_dir="out", max_steps=4, per_device_train_batch_size=2, report_to=[], save_strategy="no")
SFTTrainer(model=model(), args=arguments, train_dataset=rows, processing_class=tokenizer()).train()
