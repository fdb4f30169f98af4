class Balancer:
    """Weights each task's loss by the inverse of its running mean on held-out fields, so that no task dominates."""

    def __init__(self, tasks, momentum=0.98):
        self.momentum = momentum
        self.mean = {task: None for task in tasks}

    def watch(self, losses):
        for task, loss in losses.items():
            mean = self.mean[task]
            self.mean[task] = loss if mean is None else self.momentum * mean + (1 - self.momentum) * loss

    def __call__(self, losses):
        weights = {task: 1 / (mean.detach() + 1e-6) for task, mean in self.mean.items()}
        return sum(weights[task] * loss for task, loss in losses.items()) / len(losses)
