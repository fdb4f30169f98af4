import torch


class Kron(torch.optim.Optimizer):
    """Shampoo-like: a left and a right statistic per matrix, refreshed roots every few steps."""

    def __init__(self, params, lr=1e-3, beta=0.95, every=10):
        super().__init__(params, dict(lr=lr, beta=beta, every=every))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["stats"] = [torch.zeros(n, n, device=p.device) for n in p.shape] if p.dim() == 2 else []
                    state["momentum"] = torch.zeros_like(p)
                g = p.grad
                state["step"] += 1
                if p.dim() == 2:
                    left, right = state["stats"]
                    left.mul_(group["beta"]).addmm_(g, g.T, alpha=1 - group["beta"])
                    right.mul_(group["beta"]).addmm_(g.T, g, alpha=1 - group["beta"])
                    g = g / (left.diagonal().sqrt()[:, None] * right.diagonal().sqrt() + 1e-8).sqrt()
                state["momentum"].mul_(0.9).add_(g)
                p.add_(state["momentum"], alpha=-group["lr"])
