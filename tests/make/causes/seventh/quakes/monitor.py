from collections import defaultdict


class Monitor:
    """Norms of the layers' outputs, to see whether a run is about to diverge."""

    def __init__(self, net, kinds):
        self.norms = defaultdict(list)
        for name, layer in net.named_modules():
            if isinstance(layer, kinds):
                layer.register_forward_hook(self.listen(name))

    def listen(self, name):
        def hook(layer, inputs, output):
            self.norms[name].append(output.norm() / output.numel() ** 0.5)
        return hook

    def report(self):
        return {name: float(norms[-1]) for name, norms in self.norms.items()}
