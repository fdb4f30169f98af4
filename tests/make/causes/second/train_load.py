"""Forecast the electric load of 370 customers."""
import torch
import torch.nn.functional as F

from models.tcn import Forecaster


def windows(total=1500, batch_size=128):
    for at in range(0, total, batch_size):
        size = min(batch_size, total - at)
        yield torch.empty(size, 370, 1008), torch.empty(size, 370 * 24)


def main(epochs=6):
    torch.cuda.memory._record_memory_history(max_entries=12_000, stacks="python")
    model = Forecaster().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=epochs * 12)
    for epoch in range(epochs):
        total = 0.0
        for past, future in windows():
            past, future = past.cuda(), future.cuda()
            loss = F.smooth_l1_loss(model(past), future)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            total += loss.item()
        print("epoch", epoch, total, torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, torch.cuda.max_memory_allocated() >> 20)
    torch.cuda.memory._dump_snapshot("train_load.pickle")


if __name__ == "__main__":
    main()
