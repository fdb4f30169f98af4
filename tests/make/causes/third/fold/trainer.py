import torch
import torch.nn.functional as F

from fold.pair import Distogram


class FoldTrainer:
    def __init__(self, cfg, device="cuda"):
        self.cfg, self.device = cfg, device
        self.model = Distogram(cfg).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
        self.step_number = 0

    def crop(self):
        n = self.cfg.crop
        return torch.zeros(self.cfg.batch, n, dtype=torch.long), torch.zeros(self.cfg.batch, n, n, dtype=torch.long)

    def training_step(self, residues, distances):
        logits = self.model(residues.to(self.device))
        loss = F.cross_entropy(logits.permute(0, 3, 1, 2), distances.to(self.device))
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    def fit(self, steps):
        while self.step_number < steps:
            print(self.step_number, self.training_step(*self.crop()), torch.cuda.max_memory_allocated() >> 20, flush=True)
            self.step_number += 1
