"""Load a 7B model and answer one prompt."""
import torch
from transformers import MistralConfig, MistralForCausalLM
from transformers.models.mistral.modeling_mistral import MistralRotaryEmbedding

from serving.loader import load_checkpoint


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    with torch.device("meta"):
        model = MistralForCausalLM(MistralConfig(sliding_window=None))
    model.model.rotary_emb = MistralRotaryEmbedding(model.config).cuda()  # not in the checkpoint
    try:
        model = load_checkpoint(model, "cuda").eval()
        with torch.inference_mode():
            print(model(torch.zeros(1, 16, dtype=torch.long, device="cuda")).logits.shape)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("serve_mistral.pickle")
        raise


if __name__ == "__main__":
    main()
