"""Text to video: a text encoder, a diffusion transformer, a decoder."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import Qwen2Config, Qwen2Model


class DiTBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.cross_q, self.cross_kv, self.cross_proj = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.modulation = nn.Linear(dim, 6 * dim)

    def forward(self, x, text):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d))
        k, v = self.cross_kv(text).view(b, -1, 2, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        q = self.cross_q(x).view(b, t, self.heads, -1).transpose(1, 2)
        x = x + self.cross_proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(x)))


class DiT(nn.Module):
    def __init__(self, channels=16, dim=2560, depth=36, heads=20, text=2048):
        super().__init__()
        self.patch, self.text = nn.Linear(channels * 4, dim), nn.Linear(text, dim)
        self.blocks = nn.ModuleList([DiTBlock(dim, heads) for _ in range(depth)])
        self.out = nn.Linear(dim, channels * 4)

    def forward(self, z, text):
        x, text = self.patch(z), self.text(text)
        for block in self.blocks:
            x = block(x, text)
        return self.out(x)


class VideoPipeline:
    def __init__(self, device="cuda"):
        with torch.device(device):
            self.text_encoder = Qwen2Model(Qwen2Config(hidden_size=2048, intermediate_size=11008, num_hidden_layers=36,
                                                       num_attention_heads=16, num_key_value_heads=2)).eval()
            self.transformer = DiT().eval()

    @torch.inference_mode()
    def __call__(self, ids, tokens=7800, steps=4):
        text = self.text_encoder(ids, use_cache=False).last_hidden_state
        z = torch.randn(len(ids), tokens, 64, device=ids.device, dtype=text.dtype)
        for _ in range(steps):
            z = z - self.transformer(z, text) / steps
        return z.cpu()


torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
try:
    pipeline = VideoPipeline()
    print(pipeline(torch.zeros(1, 128, dtype=torch.long, device="cuda")).shape, torch.cuda.max_memory_allocated() >> 20)
except torch.OutOfMemoryError:
    torch.cuda.memory._dump_snapshot("make_video.pickle")
    raise
