"""A deck of tarot cards: latent diffusion at 1024 x 1024, four cards at a time."""
import sys

import torch

from tarot.decoder import Decoder
from tarot.denoiser import Denoiser


@torch.no_grad()
def paint(denoiser, decoder, n, side, steps=20):
    z = torch.zeros(n, 4, side // 8, side // 8, device="cuda")
    for t in torch.linspace(1, 0, steps):
        with torch.autocast("cuda", torch.float16):
            noise = denoiser(z)
        z = z - noise.float() / steps
    print("denoised", tuple(z.shape), torch.cuda.max_memory_allocated() >> 20, flush=True)
    return decoder(z).clamp(-1, 1).cpu()


def main(n=4, side=1024):
    denoiser, decoder = Denoiser().cuda().eval(), Decoder().cuda().eval()
    for suit in ("wands", "cups", "swords", "pentacles"):
        cards = paint(denoiser, decoder, n, side)
        print(suit, tuple(cards.shape), torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(stacks="python")
    try:
        main(*(int(a) for a in sys.argv[1:]))
    except RuntimeError as error:
        torch.cuda.memory._dump_snapshot("paint_tarot.pickle")
        print(error)
        sys.exit(1)
