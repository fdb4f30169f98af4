import torch


def scale_invariant(prediction, depth):
    d = torch.log(prediction + 1e-6) - torch.log(depth + 1e-6)
    return (d**2).mean() - 0.85 * d.mean() ** 2


class Engine:
    def __init__(self, model, optimizer, scaler=None):
        self.model, self.optimizer = model, optimizer

    def train_epoch(self, loader):
        self.model.train()
        total = 0.0
        for image, depth in loader:
            image, depth = image.cuda(non_blocking=True), depth.cuda(non_blocking=True)
            loss = scale_invariant(self.model(image), depth)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total

    def validate(self, loader):
        self.model.eval()
        errors = []
        for image, depth in loader:
            image, depth = image.cuda(non_blocking=True), depth.cuda(non_blocking=True)
            prediction = self.model(image)
            errors.append(((prediction - depth).abs() / depth).mean().item())
        return sum(errors) / len(errors)
