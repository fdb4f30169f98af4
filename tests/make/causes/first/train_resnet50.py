"""ResNet-50 on a shared workstation: leave room for the others."""
import torch
import torch.nn as nn

from vision.resnet import ResNet

GPU_SHARE = 0.25


def setup():
    torch.cuda.set_per_process_memory_fraction(GPU_SHARE)
    model = ResNet().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    return model, optimizer


def train(model, optimizer, steps, batch_size):
    criterion = nn.CrossEntropyLoss()
    for step in range(steps):
        images = torch.empty(batch_size, 3, 224, 224).cuda().to(memory_format=torch.channels_last)
        labels = torch.zeros(batch_size, dtype=torch.long).cuda()
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("step", step, torch.cuda.max_memory_allocated() >> 20)


def main():
    model, optimizer = setup()
    torch.cuda.memory._record_memory_history(max_entries=100_000)
    try:
        train(model, optimizer, 3, batch_size=128)
    except torch.OutOfMemoryError as error:
        print(error)
        torch.cuda.memory._dump_snapshot("train_resnet50.pickle")


if __name__ == "__main__":
    main()
