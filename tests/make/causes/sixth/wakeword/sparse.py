import torch


class Sparsifier:
    """Magnitude pruning during training: every `interval` steps new masks, with the density falling on a cubic schedule."""

    def __init__(self, model, final=0.1, interval=4, total=600):
        self.weights = [p for p in model.parameters() if p.dim() > 1]
        self.final, self.interval, self.total = final, interval, total
        self.masks = []

    def density(self, step):
        return self.final + (1 - self.final) * (1 - min(step / self.total, 1)) ** 3

    @torch.no_grad()
    def step(self, step):
        if step % self.interval == 0:
            self.masks = [self.choose(p, self.density(step)) for p in self.weights]
            for p, mask in zip(self.weights, self.masks):
                p.register_hook(lambda grad, mask=mask: grad * mask)
        for p, mask in zip(self.weights, self.masks):
            p.mul_(mask)

    def choose(self, p, density):
        size = p.abs()
        return (size > size.mean() * (2 - 2 * density)).to(p.dtype)
