"""Train a clause marker on windows of 512 tokens, then try it on whole contracts."""
import torch
import torch.nn.functional as F

from models.reader import Reader

CONTRACTS = [2210, 4873, 1630, 3318, 6904, 2757, 29_531, 5120]  # tokens


def fit(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(steps):
        ids, labels = torch.zeros(6, 512, dtype=torch.long).cuda(), torch.zeros(6, 512, dtype=torch.long).cuda()
        loss = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("trained", torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_allocated() >> 20)


@torch.inference_mode()
def evaluate(model, lengths):
    found = 0
    for length in lengths:
        ids = torch.zeros(1, length, dtype=torch.long).cuda()
        found += int((model(ids).argmax(-1) > 0).sum())
        print(length, torch.cuda.max_memory_allocated() >> 20, flush=True)
    return found


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model = Reader().cuda().bfloat16()
    try:
        fit(model.train(), 8)
        print(evaluate(model.eval(), CONTRACTS))
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("eval_contracts.pickle")
        raise


if __name__ == "__main__":
    main()
