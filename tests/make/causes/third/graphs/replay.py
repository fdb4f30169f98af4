import torch


class Replayer:
    """A CUDA graph per length of the input, captured when the length is first seen."""

    def __init__(self, model):
        self.model, self.captured = model, {}

    def capture(self, shape):
        static_in = torch.zeros(shape, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            static_out = self.model(static_in)
        return graph, static_in, static_out

    def __call__(self, mel):
        key = tuple(mel.shape)
        if key not in self.captured:
            self.captured[key] = self.capture(mel.shape)
        graph, static_in, static_out = self.captured[key]
        static_in.copy_(mel)
        graph.replay()
        return static_out.cpu()
