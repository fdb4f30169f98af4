"""A physics-informed network for a diffusion equation in a tokamak cross-section: u_t = k (u_xx + u_yy) + s."""
import torch


def network(width=128, depth=5):
    layers, last = [], 3
    for _ in range(depth):
        layers += [torch.nn.Linear(last, width), torch.nn.Tanh()]
        last = width
    return torch.nn.Sequential(*layers, torch.nn.Linear(last, 1))


def d(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def residual(u, points, k=0.7):
    x, y, t = points.unbind(-1)
    x, y, t = (c[:, None].detach().requires_grad_() for c in (x, y, t))
    f = u(torch.cat([x, y, t], 1))
    fx, fy = d(f, x), d(f, y)
    return d(f, t) - k * (d(fx, x) + d(fy, y)) - torch.exp(-x * x - y * y)


def solve(collocation=700_000, iterations=5):
    u = network().cuda()
    adam = torch.optim.Adam(u.parameters(), lr=1e-3)
    for i in range(iterations):
        points = torch.empty(collocation, 3, device="cuda")
        loss = residual(u, points).square().mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        print(i, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(stacks="python", max_entries=100_000)
    import sys

    try:
        solve(*map(int, sys.argv[1:]))
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("solve_plasma.pickle")
        raise
