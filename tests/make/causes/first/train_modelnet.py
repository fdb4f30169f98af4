"""Classify point clouds with edge convolutions."""
import torch
import torch.nn.functional as F

from vision.pointnet import PointClassifier


def main(batch_size=32, points=8192):
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model = PointClassifier().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    try:
        for _ in range(10):
            clouds = torch.randn(batch_size, points, 3).cuda()
            loss = F.cross_entropy(model(clouds), torch.zeros(batch_size, dtype=torch.long, device="cuda"))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("train_modelnet.pickle")
        raise


if __name__ == "__main__":
    main()
