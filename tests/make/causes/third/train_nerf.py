# %% A NeRF of one scene
import torch
import torch.nn as nn

torch.cuda.memory._record_memory_history(max_entries=20_000, stacks="python")
device = "cuda"
RAYS, SAMPLES, STEPS = 2048, 64, 2000

# %% model
field = nn.Sequential(
    nn.Linear(63, 256), nn.ReLU(),
    nn.Linear(256, 256), nn.ReLU(),
    nn.Linear(256, 256), nn.ReLU(),
    nn.Linear(256, 256), nn.ReLU(),
    nn.Linear(256, 4),
).to(device)
optimizer = torch.optim.Adam(field.parameters(), lr=5e-4)
frequencies = 2.0 ** torch.arange(10, device=device)


def encode(x):
    y = x[..., None] * frequencies
    return torch.cat([x, y.sin().flatten(-2), y.cos().flatten(-2)], -1)


def render(origins, directions):
    t = torch.linspace(2.0, 6.0, SAMPLES, device=device).expand(len(origins), SAMPLES)
    points = origins[:, None] + t[..., None] * directions[:, None]
    out = field(encode(points))
    colour, density = out[..., :3].sigmoid(), out[..., 3].relu()
    alpha = 1 - torch.exp(-density * (4.0 / SAMPLES))
    weights = alpha * torch.cumprod(1 - alpha + 1e-10, -1)
    return (weights[..., None] * colour).sum(1), weights, t


def distortion(weights, t):
    """How spread out the weights are along each ray (Mip-NeRF 360); only looked at, not trained on."""
    gaps = (t[:, :, None] - t[:, None, :]).abs()
    return (weights[:, :, None] * weights[:, None, :] * gaps).sum((1, 2)).mean()


# %% train
log = {"mse": [], "distortion": []}
try:
    for step in range(STEPS):
        rays = torch.zeros(RAYS, 6).to(device)
        target = torch.zeros(RAYS, 3).to(device)
        rgb, weights, t = render(rays[:, :3], rays[:, 3:])
        mse = ((rgb - target) ** 2).mean()
        log["mse"].append(mse.item())
        log["distortion"].append(distortion(weights, t))
        optimizer.zero_grad()
        mse.backward()
        optimizer.step()
        if step % 20 == 0:
            print(step, log["mse"][-1], torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
except torch.cuda.OutOfMemoryError as e:
    print(step, e)
    torch.cuda.memory._dump_snapshot("train_nerf.pickle")
    raise
