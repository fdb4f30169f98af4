"""Low-latency scoring service with CUDA graphs."""
import torch

from lm.model import GPT, GPTConfig
from serving.graphs import GraphRunner


@torch.inference_mode()
def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    config = GPTConfig(vocab_size=32000, block_size=1024, n_layer=12, n_embd=768)
    with torch.device("cuda"):
        model = GPT(config).to(torch.bfloat16).eval()
    runner = GraphRunner(model, sizes=list(range(4, 65, 4)), length=256)
    for size in (3, 17, 60, 8, 33):
        scores = runner.run(torch.randint(0, 32000, (size, 256)))
        print(scores.shape, torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)
    torch.cuda.memory._dump_snapshot("serve_lm.pickle")


if __name__ == "__main__":
    main()
