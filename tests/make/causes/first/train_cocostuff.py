"""Train a U-Net on COCO-Stuff, with 171 classes, at full resolution."""
import torch
import torch.nn as nn

from vision.unet import UNet


def main(batch_size=3):
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model = UNet(classes=171).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss(ignore_index=255)
    try:
        for step in range(5):
            images = torch.empty(batch_size, 3, 1024, 1024).cuda()
            masks = torch.zeros(batch_size, 1024, 1024, dtype=torch.long).cuda()
            logits = model(images)
            loss = criterion(logits, masks)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print("step", step, torch.cuda.max_memory_allocated() >> 20)
    finally:
        print(torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20)
        torch.cuda.memory._dump_snapshot("train_cocostuff.pickle")


if __name__ == "__main__":
    main()
