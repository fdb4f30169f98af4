"""Segment the vessels of the retina."""
import torch
import torch.nn.functional as F
from torchmetrics.classification import BinaryAUROC

from models.retina import VesselNet


def main(epochs=10, steps=100):
    torch.cuda.memory._record_memory_history(max_entries=120_000, stacks="python")
    model = VesselNet().cuda()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4)
    auroc = BinaryAUROC(validate_args=False).cuda()
    try:
        for epoch in range(epochs):
            for step in range(steps):
                image, vessel = torch.empty(4, 3, 576, 576).cuda(), torch.zeros(4, 1, 576, 576, dtype=torch.long).cuda()
                logits = model(image)
                loss = F.binary_cross_entropy_with_logits(logits, vessel.float())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                auroc.update(logits.detach(), vessel)
            print("epoch", epoch, loss.item(), torch.cuda.memory_allocated() >> 20, "MiB", flush=True)
    finally:
        torch.cuda.memory._dump_snapshot("train_vessels.pickle")


if __name__ == "__main__":
    main()
