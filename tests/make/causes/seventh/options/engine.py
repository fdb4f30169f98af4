import torch


class Engine:
    """Replays one captured graph per batch size, so that a quote costs no Python."""

    def __init__(self, net, sizes, features):
        self.net, self.graphs = net, {}
        for size in sizes:
            self.graphs[size] = self.capture(torch.zeros(size, features, device="cuda"))
            print("captured", size, torch.cuda.memory_reserved() >> 20, flush=True)

    @torch.no_grad()
    def capture(self, x):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.net(x)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.net(x)
        return graph, x, y

    def __call__(self, x):
        size = min(s for s in self.graphs if s >= len(x))
        graph, static, y = self.graphs[size]
        static[:len(x)].copy_(x)
        graph.replay()
        return y[:len(x)].cpu()
