import torch


class Particles:
    """Particles and their mesh; the mesh lives in a pool of its own."""

    def __init__(self, n, side):
        self.pool = torch.cuda.MemPool()
        self.n, self.side = n, side
        self.x, self.v = torch.zeros(n, 3, device="cuda"), torch.zeros(n, 3, device="cuda")

    def initial(self):
        """Zel'dovich start at double resolution."""
        with torch.cuda.use_mem_pool(self.pool):
            fine = torch.zeros(2 * self.side, 2 * self.side, 2 * self.side, device="cuda")
            for axis in range(3):
                slope = torch.diff(fine, dim=axis, append=fine.narrow(axis, 0, 1))
                self.v[:, axis] += slope[::2, ::2, ::2].reshape(-1)[: self.n]
                del slope

    def density(self):
        with torch.cuda.use_mem_pool(self.pool):
            mesh = torch.zeros(self.side ** 3, device="cuda")
        cell = (self.x * self.side).long().clamp_(0, self.side - 1)
        flat = (cell[:, 0] * self.side + cell[:, 1]) * self.side + cell[:, 2]
        return mesh.index_add_(0, flat, torch.ones_like(self.x[:, 0])), flat

    def kick(self, dt):
        mesh, flat = self.density()
        mesh = mesh.view(self.side, self.side, self.side)
        for axis in range(3):
            force = mesh.roll(1, axis) - mesh.roll(-1, axis)
            self.v[:, axis] += dt * force.view(-1)[flat]
        self.x += dt * self.v
