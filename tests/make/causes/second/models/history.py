class HistoricalEmbeddings:
    """The node embeddings of each layer as they were when a batch was last seen."""

    def __init__(self):
        self.layers = {}

    def push(self, batch, layer, h):
        self.layers[batch, layer] = h.detach().clone()

    def pull(self, batch, layer):
        return self.layers.get((batch, layer))
