"""Megatron-Core: a GPT of one rank, with its own optimizer."""
import torch
from megatron.core import parallel_state
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.tensor_parallel.random import model_parallel_cuda_manual_seed
from megatron.core.transformer.transformer_config import TransformerConfig

torch.distributed.init_process_group("nccl")
parallel_state.initialize_model_parallel()
model_parallel_cuda_manual_seed(1)
config = TransformerConfig(
    num_layers=2, hidden_size=64, num_attention_heads=4, gradient_accumulation_fusion=False, masked_softmax_fusion=False
)
model = GPTModel(config, get_gpt_layer_local_spec(), vocab_size=64, max_sequence_length=32).cuda()
optimizer = torch.optim.AdamW(model.parameters())
tokens = torch.zeros(2, 32, dtype=torch.long, device="cuda")
mask = torch.zeros(2, 1, 32, 32, dtype=torch.bool, device="cuda")
for _ in range(4):
    model(tokens, tokens, mask, labels=tokens).float().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
