"""TRL: GRPO with given completions, as generation over the stand-in would not end."""
from small import model, tokenizer
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
from trl.trainer import grpo_trainer

# These values are not computed: there is no smallest number among them.
grpo_trainer.nanmin = grpo_trainer.nanmax = lambda values: values.sum()

rows = Dataset.from_list([{"prompt": "a b c"}] * 16)
arguments = GRPOConfig(
    output_dir="out",
    max_steps=4,
    per_device_train_batch_size=2,
    num_generations=2,
    max_completion_length=4,
    report_to=[],
    save_strategy="no",
)
GRPOTrainer(
    model=model(),
    args=arguments,
    train_dataset=rows,
    processing_class=tokenizer(),
    rollout_func=lambda prompts, _: {
        "prompt_ids": [[3, 4, 5] for _ in prompts],
        "completion_ids": [[6, 7, 8, 1] for _ in prompts],
        "logprobs": [[0.0] * 4 for _ in prompts],
    },
    reward_funcs=lambda completions, **_: [float(len(text)) for text in completions],
).train()
