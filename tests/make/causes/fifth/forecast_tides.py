"""Water levels at 3,000 gauges, seven days ahead: a wide MLP-Mixer, stochastic weight averaging in the last epochs."""
import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel

from tides.mixer import Mixer


def batches(n, size=16):
    for _ in range(n):
        yield torch.empty(size, 3_000, 336).cuda(), torch.empty(size, 3_000, 168).cuda()


def main(epochs=5, swa_from=3, steps=4):
    torch.cuda.memory._record_memory_history(max_entries=30_000, stacks="python")
    model = Mixer().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    averaged, schedule = None, None
    for epoch in range(epochs):
        if epoch == swa_from:
            averaged, schedule = AveragedModel(model), SWALR(optimizer, swa_lr=1e-4)
        for past, future in batches(steps):
            with torch.autocast("cuda", torch.bfloat16):
                loss = nn.functional.huber_loss(model(past).float(), future)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        if averaged is not None:
            averaged.update_parameters(model)
            schedule.step()
        print(epoch, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20, flush=True)


if __name__ == "__main__":
    try:
        main()
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("forecast_tides.pickle")
        raise
