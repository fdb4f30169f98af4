"""Fits the autoencoder on last year's data, then watches the wind farm with it, in one process."""
import torch

from turbines.model import Sensors


def fit(model, steps=12, batch=256):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        x = torch.empty(batch, 96, 8_192).cuda()
        loss = model.error(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    optimizer.zero_grad()


@torch.inference_mode()
def watch(model, hours):
    alarms = 0
    for hour in range(hours):
        for turbine in range(6):
            x = torch.empty(1, 96, 1_024).cuda()
            alarms += int(model.error(x).item() > 3.0)
    return alarms


def main():
    torch.cuda.memory._record_memory_history(max_entries=8_000, stacks="python")
    model = Sensors().cuda()
    fit(model.train())
    print("fitted", torch.cuda.max_memory_allocated() >> 20, flush=True)
    print(watch(model.eval(), 24), "alarms", torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)
    torch.cuda.memory._dump_snapshot("watch_turbines.pickle")


if __name__ == "__main__":
    main()
