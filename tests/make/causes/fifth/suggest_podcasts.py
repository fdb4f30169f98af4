"""Next-episode recommendation, trained on listening histories."""
import torch
from torch.utils.data import DataLoader, Dataset

from podcasts.model import Listener


class Histories(Dataset):
    def __len__(self):
        return 50_000

    def __getitem__(self, i):
        return torch.zeros(50, dtype=torch.long), torch.zeros(50, dtype=torch.long)


def main(batch_size=128, epochs=1):
    torch.cuda.memory._record_memory_history(max_entries=50_000, stacks="python")
    model = Listener().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(epochs):
        for step, (played, wanted) in enumerate(DataLoader(Histories(), batch_size)):
            loss = model.next(played.cuda(), wanted.cuda())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if step == 20:
                return print("ok", torch.cuda.max_memory_allocated() >> 20)


if __name__ == "__main__":
    try:
        main()
    except torch.OutOfMemoryError as e:
        print(str(e).split(". ")[1])
        torch.cuda.memory._dump_snapshot("suggest_podcasts.pickle")
        raise SystemExit(1)
