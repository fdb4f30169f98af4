"""DeepSpeed: ZeRO-2 with one rank."""
import deepspeed
import torch

model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64))
config = {
    "train_micro_batch_size_per_gpu": 4,
    "optimizer": {"type": "AdamW", "params": {"torch_adam": True}},
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": 2},
}
engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
for _ in range(4):
    loss = engine(torch.randn(4, 64, dtype=torch.bfloat16, device=engine.device)).square().mean()
    engine.backward(loss)
    engine.step()
