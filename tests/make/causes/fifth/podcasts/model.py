import torch
from torch import nn


class Listener(nn.Module):
    """Self-attentive sequence model: what does a listener play next?"""

    def __init__(self, episodes=1_400_000, d=64, longest=50, depth=2):
        super().__init__()
        self.episode = nn.Embedding(episodes, d, sparse=True)
        self.place = nn.Embedding(longest, d)
        layer = nn.TransformerEncoderLayer(d, 2, 4 * d, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)

    def forward(self, played):
        x = self.episode(played) + self.place.weight[: played.shape[1]]
        mask = nn.Transformer.generate_square_subsequent_mask(played.shape[1], device=x.device)
        return self.body(x, mask=mask, is_causal=True)

    def next(self, played, wanted):
        h = self(played).flatten(0, 1)
        scores = h @ self.episode.weight.T
        return nn.functional.cross_entropy(scores, wanted.flatten())
