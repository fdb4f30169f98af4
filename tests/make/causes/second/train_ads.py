"""Click prediction."""
import torch
import torch.nn.functional as F

from models.dlrm import DLRM


def main(steps=10, batch_size=8192):
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    with torch.device("cuda"):
        model = DLRM()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    try:
        for step in range(steps):
            dense, sparse, click = torch.empty(batch_size, 13), torch.zeros(batch_size, 13, 4, dtype=torch.long), torch.zeros(batch_size)
            loss = F.binary_cross_entropy_with_logits(model(dense.cuda(), sparse.cuda()), click.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print("step", step, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_allocated() >> 20, flush=True)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("train_ads.pickle")
        raise


if __name__ == "__main__":
    main()
