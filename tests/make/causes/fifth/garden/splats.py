import torch

SHAPES = {"place": (3,), "scale": (3,), "turn": (4,), "opacity": (1,), "dc": (1, 3), "rest": (15, 3)}


class Splats:
    """Gaussians of a scene and their Adam state; clones and prunes as in the paper."""

    def __init__(self, n, lr=1e-3):
        self.values = {k: torch.zeros(n, *s, device="cuda", requires_grad=True) for k, s in SHAPES.items()}
        self.optimizer = torch.optim.Adam([{"params": [v], "lr": lr, "name": k} for k, v in self.values.items()], foreach=False)

    def __len__(self):
        return len(self.values["place"])

    def _replace(self, make):
        for group in self.optimizer.param_groups:
            old = group["params"][0]
            state = self.optimizer.state.pop(old, None)
            new = make(old.detach(), group["name"]).requires_grad_(True)
            if state:
                for key in ("exp_avg", "exp_avg_sq"):
                    state[key] = make(state[key], None)
                self.optimizer.state[new] = state
            group["params"][0] = self.values[group["name"]] = new

    def clone(self, n):
        self._replace(lambda t, name: torch.cat([t, t[:n] if name else torch.zeros_like(t[:n])]))

    def prune(self, n):
        self._replace(lambda t, name: t[: len(t) - n].clone())
