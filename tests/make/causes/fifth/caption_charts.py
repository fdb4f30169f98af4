"""Captions for business charts: a vision encoder's patches into a T5 decoder, fine-tuned on one card of the department's node."""
import os

os.environ["PYTORCH_ALLOC_CONF"] = os.environ.get("CHARTS_ALLOC", "per_process_memory_fraction:0.18")

import torch
from transformers import T5Config, T5ForConditionalGeneration

from charts.batches import charts


def build():
    config = T5Config(vocab_size=32_128, d_model=768, d_kv=64, d_ff=2048, num_layers=12, num_heads=12,
                      feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0)
    with torch.device("cuda"):
        return T5ForConditionalGeneration(config)


def main(steps=60, record_from=4):
    model = build().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step, (patches, labels) in enumerate(charts(steps)):
        if step == record_from:
            torch.cuda.memory._record_memory_history(max_entries=24_000, stacks="python")
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(inputs_embeds=patches.cuda(), labels=labels.cuda()).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        print(step, tuple(patches.shape), torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, flush=True)


if __name__ == "__main__":
    try:
        main()
    except torch.OutOfMemoryError as error:
        torch.cuda.memory._dump_snapshot("caption_charts.pickle")
        print(error)
        raise
