"""Plain-language versions of statutes with a T5: the whole text goes into the encoder at once."""
import torch
from transformers import T5Config, T5EncoderModel


def build():
    config = T5Config(vocab_size=32_128, d_model=1024, d_kv=64, d_ff=2816, num_layers=24, num_heads=16, feed_forward_proj="gated-gelu")
    with torch.device("meta"):
        model = T5EncoderModel(config)
    return model.to(torch.bfloat16).to_empty(device="cuda").eval()


def statutes():
    for length in (13_312, 9_216, 11_008, 12_544):
        yield torch.zeros(1, length, dtype=torch.long)


@torch.inference_mode()
def main():
    model = build()
    for number, tokens in enumerate(statutes()):
        states = model(input_ids=tokens.cuda()).last_hidden_state
        torch.save(states.cpu(), f"/tmp/statute-{number}.pt")
        print(number, tuple(states.shape), torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=50_000)
    try:
        main()
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("translate_statutes.pickle")
        print(error)
        raise
