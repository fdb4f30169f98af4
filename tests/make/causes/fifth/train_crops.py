"""Crop type, sowing date and yield of a field from a year of satellite pixels: three tasks, one encoder."""
import torch
import torch.nn.functional as F

from crops.balance import Balancer
from crops.net import FieldNet


def fields(batch, days=73):
    while True:
        yield (torch.empty(batch, 13, days), torch.zeros(batch, dtype=torch.long), torch.zeros(batch), torch.zeros(batch))


def task_losses(net, batch):
    x, crop, sown, harvest = (t.cuda() for t in batch)
    out = net(x)
    return {"crop": F.cross_entropy(out["crop"], crop),
            "sown": F.smooth_l1_loss(out["sown"][:, 0], sown),
            "yield": F.mse_loss(out["yield"][:, 0], harvest)}


def train(steps=600):
    net = FieldNet().cuda()
    optimizer = torch.optim.NAdam(net.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    balance = Balancer(net.heads)
    for step, batch, held_out in zip(range(steps), fields(384), fields(64)):
        balance.watch(task_losses(net, held_out))
        loss = balance(task_losses(net, batch))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 25 == 0:
            print(f"step {step} allocated {torch.cuda.memory_allocated() >> 20} MiB", flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=9000, stacks="python")
    try:
        train()
        print("trained", torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("train_crops.pickle")
        raise
