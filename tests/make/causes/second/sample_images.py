"""Make pictures with a latent diffusion model."""
import torch

from models.latent import Decoder, Denoiser


@torch.inference_mode()
def sample(denoiser, decoder, count=4, steps=20, size=96):
    z = torch.randn(count, 4, size, size, device="cuda", dtype=torch.float16)
    for step in range(steps):
        z = z - 0.05 * denoiser(z)
    return decoder(z.float()).clamp_(-1, 1).cpu()


def main():
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    denoiser, decoder = Denoiser().cuda().half(), Decoder().cuda()
    try:
        for batch in range(5):
            print(batch, sample(denoiser, decoder).shape, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("sample_images.pickle")
        raise


if __name__ == "__main__":
    main()
