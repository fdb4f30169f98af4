import torch


class Deblur:
    """Richardson-Lucy with a separable point spread function."""

    def __init__(self, rounds=3):
        self.rounds = rounds
        self.kernel = torch.zeros(9, device="cuda")

    def blur(self, volume):
        out = torch.zeros_like(volume)
        for shift in range(-1, 2):
            out.add_(volume.roll(shift, -1))
        return out

    @torch.no_grad()
    def __call__(self, seen):
        guess = seen.clone()
        for _ in range(self.rounds):
            guess.mul_(self.blur(seen.div(self.blur(guess).add_(1e-6))))
        return guess


def sharpened(stacks, deblur):
    for name, stack in stacks:
        yield name, deblur(stack.cuda())
