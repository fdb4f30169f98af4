"""Multi-scale segmentation on ADE20k."""
import torch
import torch.nn.functional as F

from vision.seghead import MultiScaleSegmenter


def batches(count, batch_size, size=512):
    for _ in range(count):
        yield torch.empty(batch_size, 3, size, size), torch.zeros(batch_size, size, size, dtype=torch.long)


def train(model, optimizer, loader, log_every=50):
    for step, (images, masks) in enumerate(loader):
        images, masks = images.cuda(), masks.cuda()
        outputs = model(images)
        loss = images.new_zeros(())
        for weight, name in zip((1.0, 0.4, 0.2, 0.1), list(outputs)):
            part = weight * F.cross_entropy(outputs[name], masks)
            part.backward(retain_graph=name != "scale3")
            loss += part.detach()
        optimizer.step()
        optimizer.zero_grad()
        print("step", step, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_allocated() >> 20)
        if step % log_every == 0:
            accuracy = (outputs["scale0"].argmax(1) == masks).float().mean().item()


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model = MultiScaleSegmenter().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    try:
        train(model, optimizer, batches(6, 16))
    finally:
        torch.cuda.memory._dump_snapshot("train_ade20k.pickle")


if __name__ == "__main__":
    main()
