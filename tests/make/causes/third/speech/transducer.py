import torch
import torch.nn as nn


class Joiner(nn.Module):
    def __init__(self, dim, vocab):
        super().__init__()
        self.hidden, self.out = nn.Linear(dim, dim), nn.Linear(dim, vocab)

    def forward(self, audio, text):
        return self.out(torch.tanh(self.hidden(audio[:, :, None] + text[:, None])))


class Transducer(nn.Module):
    def __init__(self, mels=80, dim=320, vocab=1024):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(mels * 4, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.predictor = nn.Embedding(vocab, dim)
        self.joiner = Joiner(dim, vocab)

    def forward(self, mel, tokens):
        b, t, m = mel.shape
        return self.joiner(self.encoder(mel[:, : t // 4 * 4].reshape(b, t // 4, 4 * m)), self.predictor(tokens))


def lattice_loss(logits, tokens):
    """Log-probabilities of blank and of the next token at each place of the lattice (the recursion is left to the CPU)."""
    log_probs = logits.log_softmax(-1)
    blank = log_probs[..., 0]
    emit = log_probs.gather(-1, tokens[:, None, :, None].expand(-1, logits.size(1), -1, -1)).squeeze(-1)
    return -(blank + emit).logsumexp((1, 2)).mean()
