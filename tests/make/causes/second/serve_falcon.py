"""Start a Falcon 7B server."""
import sys

import torch
from transformers import FalconConfig, FalconForCausalLM

from serve import checkpoint

CONFIG = FalconConfig(hidden_size=4544, num_hidden_layers=32, num_attention_heads=71, vocab_size=65024, tie_word_embeddings=False)


def main(folder="/tmp/falcon"):
    if sys.argv[1:] == ["write"]:
        with torch.device("meta"):
            return checkpoint.write(FalconForCausalLM(CONFIG), folder, shards=4)
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    try:
        torch.set_default_dtype(torch.bfloat16)
        with torch.device("cuda"):
            model = FalconForCausalLM(CONFIG).eval()
        checkpoint.load(model, folder, "cuda")
        with torch.inference_mode():
            print(model(torch.zeros(1, 32, dtype=torch.long, device="cuda"), use_cache=False).logits.shape)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("serve_falcon.pickle")
        raise


if __name__ == "__main__":
    main()
