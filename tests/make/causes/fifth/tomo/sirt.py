import torch


class Sirt:
    """Simultaneous iterative reconstruction with Nesterov's momentum; one volume, one sinogram."""

    def __init__(self, side, angles):
        self.side, self.angles = side, angles
        self.volume = torch.zeros(side, side, side, device="cuda")
        self.last = torch.zeros_like(self.volume)
        self.weight = torch.ones_like(self.volume)

    def project(self, volume):
        return torch.stack([volume.roll(k, 1).sum(2) for k in range(self.angles)])

    def back(self, rays):
        out = torch.zeros_like(self.volume)
        for k in range(self.angles):
            out += rays[k].unsqueeze(2).roll(-k, 1)
        return out / self.angles

    def step(self, measured):
        ahead = self.volume + 0.9 * (self.volume - self.last)
        update = self.back(measured - self.project(ahead))
        self.last, self.volume = self.volume, (ahead + self.weight * update).clamp_(min=0)
        return update.norm()
