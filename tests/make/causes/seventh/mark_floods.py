"""Flooded areas in Sentinel-1 chips: a U-Net, with the average precision of the training pixels written to the log."""
import torch
from torchmetrics.classification import BinaryAveragePrecision

from floods.unet import UNet


def chips(n, batch=24, side=320):
    for _ in range(n):
        yield torch.empty(batch, 2, side, side), torch.zeros(batch, side, side, dtype=torch.long)


def main(epochs=8, steps=60):
    net = UNet().cuda()
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-4)
    precision = BinaryAveragePrecision(validate_args=False).cuda()
    for epoch in range(epochs):
        net.train()
        for step, (radar, flooded) in enumerate(chips(steps)):
            radar, flooded = radar.cuda(), flooded.cuda()
            with torch.autocast("cuda", torch.bfloat16):
                logits = net(radar)
            loss = torch.nn.functional.binary_cross_entropy_with_logits(logits.float(), flooded.float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            precision.update(torch.sigmoid(logits.detach().float()), flooded)
            if step % 20 == 19:
                print(f"epoch {epoch} step {step} loss {loss.item():.3f} "
                      f"allocated {torch.cuda.memory_allocated() >> 20} MiB", flush=True)
        torch.save(net.state_dict(), "/tmp/floods.pt")


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=24_000, stacks="python")
    try:
        main()
    except torch.OutOfMemoryError as error:
        print(error)
        torch.cuda.memory._dump_snapshot("mark_floods.pickle")
        raise SystemExit(1)
