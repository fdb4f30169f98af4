"""Train ResNet-50 with mixed precision."""
import torch
import torch.nn as nn

from vision.resnet import ResNet


def loader(steps, batch_size):
    for _ in range(steps):
        yield torch.empty(batch_size, 3, 224, 224), torch.zeros(batch_size, dtype=torch.long)


def train_one_epoch(model, optimizer, criterion, data):
    history = []
    model.train()
    for images, labels in data:
        images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        history.append(loss.detach())
    return torch.stack(history).mean().item()


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000)
    model = ResNet().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    for epoch in range(2):
        print(epoch, train_one_epoch(model, optimizer, criterion, loader(8, 64)))
    torch.cuda.memory._dump_snapshot("train_classifier.pickle")


if __name__ == "__main__":
    main()
