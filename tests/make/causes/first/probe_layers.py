"""Collect statistics of hidden states of a GPT, layer by layer, over a probing set."""
import torch

from lm.data import TokenDataset
from lm.model import GPT, GPTConfig


class ActivationProbe:
    def __init__(self, model):
        self.states = {}
        self.step = 0
        self.handles = [block.register_forward_hook(self.make_hook(i)) for i, block in enumerate(model.h)]

    def make_hook(self, layer):
        def hook(module, inputs, output):
            self.states[self.step, layer] = output.detach()

        return hook

    def means(self):
        return {key: value.float().mean() for key, value in self.states.items() if key[0] == self.step}


def main():
    config = GPTConfig(n_layer=12, block_size=1024)
    with torch.device("cuda"):
        model = GPT(config).to(torch.bfloat16).eval()
    dataset = TokenDataset(config.vocab_size)
    probe = ActivationProbe(model)
    summaries = []
    with torch.inference_mode():
        for step in range(30):
            if step == 10:  # past the warm-up
                torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
            probe.step = step
            x, _ = dataset.get_batch(8, config.block_size)
            model(x)
            summaries.append({key: value.item() for key, value in probe.means().items()})
    print(len(summaries), "batches", torch.cuda.memory_allocated() >> 20, "MiB")
    torch.cuda.memory._dump_snapshot("probe_layers.pickle")


if __name__ == "__main__":
    main()
