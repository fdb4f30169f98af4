"""Train a ViT-L/16 on ImageNet-sized images."""
import torch
import torch.nn as nn

from vision.vit import VisionTransformer


def loader(batch_size, steps):
    for _ in range(steps):
        yield torch.empty(batch_size, 3, 224, 224), torch.zeros(batch_size, dtype=torch.long)


def train_one_epoch(model, optimizer, data):
    criterion = nn.CrossEntropyLoss()
    for images, labels in data:
        images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    torch.cuda.memory._record_memory_history()
    with torch.device("cuda"):
        model = VisionTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    try:
        train_one_epoch(model, optimizer, loader(batch_size=256, steps=10))
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("train_vit_large.pickle")
        raise


if __name__ == "__main__":
    main()
