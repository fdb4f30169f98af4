"""P and S arrivals in three-component seismograms."""
import torch

from quakes.monitor import Monitor
from quakes.picker import Mixer, PhasePicker


def train(steps=400, batch=64, samples=6000):
    net = PhasePicker().cuda()
    monitor = Monitor(net, Mixer)
    optimizer = torch.optim.AdamW(net.parameters(), lr=5e-4)
    for step in range(steps):
        waves = torch.empty(batch, 3, samples).cuda(non_blocking=True)
        phase = torch.zeros(batch, samples // 4, dtype=torch.long).cuda(non_blocking=True)
        loss = torch.nn.functional.cross_entropy(net(waves).flatten(0, 1), phase.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(step, len(monitor.report()), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)


def observer(device, alloc, device_alloc, device_free):
    torch.cuda.memory._dump_snapshot("predict_quakes.pickle")


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=12_000, stacks="python")
    torch._C._cuda_attach_out_of_memory_observer(observer)
    train()
