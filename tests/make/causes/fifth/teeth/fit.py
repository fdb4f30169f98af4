import torch

from .sdf import SIDE, Decoder


class Fitter:
    """Fits one scan after another; the decoder goes on learning, the scan's own code and planes are new."""

    def __init__(self, lr=5e-4):
        self.decoder = Decoder().cuda()
        self.optimizer = torch.optim.Adam(self.decoder.parameters(), lr=lr)

    def fit(self, points, distances, steps=6):
        code = torch.zeros(1, 64, device="cuda", requires_grad=True)
        planes = torch.zeros(3, SIDE * SIDE, 32, device="cuda", requires_grad=True)
        self.optimizer.add_param_group({"params": [code, planes], "lr": 5e-3})
        for _ in range(steps):
            pick = torch.randint(len(points), (16_384,))
            x, d = points[pick].cuda(), distances[pick].cuda()
            self.optimizer.zero_grad(set_to_none=True)
            loss = (self.decoder(code, planes, x) - d).abs().mean()
            (loss + 1e-4 * code.square().sum()).backward()
            self.optimizer.step()
        return code.detach().cpu(), planes.detach().half().cpu()
