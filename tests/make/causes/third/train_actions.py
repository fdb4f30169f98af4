"""Recognise actions in clips with a video transformer; activations are recomputed in the backward pass."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2, self.heads = nn.LayerNorm(dim), nn.LayerNorm(dim), heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class ActionNet(nn.Module):
    def __init__(self, dim=768, depth=24, heads=12, classes=400):
        super().__init__()
        self.tubes = nn.Conv3d(3, dim, (2, 16, 16), (2, 16, 16))
        self.blocks = nn.Sequential(*(Block(dim, heads) for _ in range(depth)))
        self.head = nn.Linear(dim, classes)

    def forward(self, clips):
        x = self.tubes(clips).flatten(2).transpose(1, 2)
        x = checkpoint(self.blocks, x, use_reentrant=False)
        return self.head(x.mean(1))


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model = ActionNet().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler(enabled=False)
    try:
        for step in range(3):
            clips, actions = torch.empty(16, 3, 16, 224, 224).cuda(), torch.zeros(16, dtype=torch.long).cuda()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(clips), actions)
            print("forward", torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
            scaler.scale(loss).backward()
            optimizer.step()
            optimizer.zero_grad()
            print(step, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("train_actions.pickle")
        raise


if __name__ == "__main__":
    main()
