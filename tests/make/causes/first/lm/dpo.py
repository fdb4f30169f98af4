import copy

import torch
import torch.nn.functional as F

from lm.ema import EMA


def sequence_log_probs(model, x, y):
    logits, _ = model(x)
    return -F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none").view_as(y).sum(-1)


class DPOTrainer:
    def __init__(self, policy, lr=1e-6, beta=0.1):
        self.policy, self.beta = policy, beta
        self.reference = copy.deepcopy(policy).eval()
        for p in self.reference.parameters():
            p.requires_grad_(False)
        self.ema = EMA(policy)
        self.optimizer = torch.optim.AdamW(policy.parameters(), lr=lr)

    def step(self, chosen, rejected):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            with torch.no_grad():
                ref = sequence_log_probs(self.reference, *chosen) - sequence_log_probs(self.reference, *rejected)
            pol = sequence_log_probs(self.policy, *chosen) - sequence_log_probs(self.policy, *rejected)
            loss = -F.logsigmoid(self.beta * (pol - ref)).mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.ema.update(self.policy)
        return loss.item()
