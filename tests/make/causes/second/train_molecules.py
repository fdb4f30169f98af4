"""Predict a property of molecules, smoothed with historical embeddings."""
import torch
import torch.nn.functional as F

from data.molecules import MoleculeBatches
from models.gnn import MoleculeNet
from models.history import HistoricalEmbeddings


def main(epochs=30):
    torch.cuda.memory._record_memory_history(max_entries=200_000, stacks="python")
    model, history = MoleculeNet().cuda(), HistoricalEmbeddings()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader, step = MoleculeBatches(12), 0
    try:
        for epoch in range(epochs):
            for x, edges, owner, y in loader:
                x, edges, owner, y = x.cuda(), edges.cuda(), owner.cuda(), y.cuda()
                predicted = model(x, edges, owner, len(y), history, step)
                loss = F.l1_loss(predicted, y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                step += 1
            print("epoch", epoch, loss.item(), torch.cuda.memory_allocated() >> 20, "MiB", flush=True)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("train_molecules.pickle")
        raise


if __name__ == "__main__":
    main()
