import torch
import torch.nn as nn


class Layer(nn.Module):
    def __init__(self, s):
        super().__init__()
        kv = s.kv_heads * s.head_dim
        self.qkv, self.o = nn.Linear(s.hidden, s.hidden + 2 * kv, bias=False), nn.Linear(s.hidden, s.hidden, bias=False)
        self.gate_up, self.down = nn.Linear(s.hidden, 2 * 14336, bias=False), nn.Linear(14336, s.hidden, bias=False)


class Worker:
    def __init__(self, settings):
        self.s = settings
        torch.cuda.set_per_process_memory_fraction(settings.gpu_share)

    def load(self):
        torch.set_default_dtype(torch.bfloat16)
        with torch.device("cuda"):
            self.layers = nn.ModuleList(Layer(self.s) for _ in range(self.s.layers)).requires_grad_(False)

    def make_kv_pool(self):
        free, _ = torch.cuda.mem_get_info()
        shape = (2, self.s.block, self.s.kv_heads, self.s.head_dim)
        per_block = 2 * 2 * self.s.block * self.s.kv_heads * self.s.head_dim
        blocks = int(free * self.s.kv_share) // (per_block * self.s.layers)
        self.pool = [torch.empty(blocks, *shape, device="cuda") for _ in range(self.s.layers)]
        return blocks
