import torch


class TokenDataset:
    """Random windows of a long token stream."""

    def __init__(self, vocab_size, length=1_000_000, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(0, vocab_size, (length,), generator=g)
        self.g = g

    def get_batch(self, batch_size, block_size, device="cuda"):
        starts = torch.randint(0, len(self.tokens) - block_size - 1, (batch_size,), generator=self.g)
        x = torch.stack([self.tokens[s : s + block_size] for s in starts.tolist()])
        y = torch.stack([self.tokens[s + 1 : s + 1 + block_size] for s in starts.tolist()])
        return x.to(device, non_blocking=True), y.to(device, non_blocking=True)
