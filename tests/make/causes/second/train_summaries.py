"""Fine-tune T5 for summaries; every few steps a larger T5 judges whether they are faithful."""
import torch
from transformers import T5Config, T5ForConditionalGeneration

SMALL = dict(d_model=1024, d_kv=64, d_ff=4096, num_layers=24, num_heads=16)
LARGE = dict(d_model=1024, d_kv=128, d_ff=16384, num_layers=24, num_heads=32)


def build(sizes):
    with torch.device("cuda"):
        return T5ForConditionalGeneration(T5Config(use_cache=False, decoder_start_token_id=0, **sizes))


@torch.no_grad()
def faithfulness(batches):
    judge = build(LARGE).eval()
    return sum(judge(input_ids=a, labels=b).loss.item() for a, b in batches) / len(batches)


def main(evaluate_every=4):
    torch.cuda.memory._record_memory_history(max_entries=150_000, stacks="python")
    model = build(SMALL)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    try:
        for step in range(1, 9):
            article, summary = torch.zeros(2, 512, dtype=torch.long).cuda(), torch.zeros(2, 96, dtype=torch.long).cuda()
            model(input_ids=article, labels=summary).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            print("step", step, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_allocated() >> 20, flush=True)
            if step % evaluate_every == 0:
                print("faithful", faithfulness([(article, summary)]))
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("train_summaries.pickle")
        raise


if __name__ == "__main__":
    main()
