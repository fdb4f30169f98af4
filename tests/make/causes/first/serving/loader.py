import torch


def read_shards(model, per_shard=40):
    """Yields the checkpoint's tensors as they would come from safetensors files (bfloat16, on the CPU)."""
    for name, parameter in model.named_parameters():
        yield name, torch.empty(parameter.shape, dtype=torch.bfloat16)


def assign(model, name, tensor):
    *path, last = name.split(".")
    module = model.get_submodule(".".join(path))
    setattr(module, last, torch.nn.Parameter(tensor, requires_grad=False))


def load_checkpoint(model, device="cuda", dtype=torch.float32):
    for name, tensor in read_shards(model):
        assign(model, name, tensor.to(device).to(dtype))
    return model
