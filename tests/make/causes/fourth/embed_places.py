"""Patch descriptors of a street-view gallery, for place recognition."""
import torch
from transformers import Dinov2Config, Dinov2Model


class Gallery:
    def __init__(self, device="cuda"):
        self.bank = torch.empty(0, 256, 384, device=device)

    def add(self, patches):
        self.bank = torch.cat((self.bank, patches))

    def save(self, path):
        torch.save(self.bank.cpu(), path)


class Extractor:
    def __init__(self):
        config = Dinov2Config(hidden_size=384, num_attention_heads=6, num_hidden_layers=6, image_size=224)
        self.net = Dinov2Model(config).half().eval().to("cuda")

    @torch.inference_mode()
    def __call__(self, images):
        return torch.nn.functional.normalize(self.net(images.half()).last_hidden_state[:, 1:].float(), dim=-1)


def main(pictures=40_000, batch=256):
    extract, gallery = Extractor(), Gallery()
    for done in range(0, pictures, batch):
        gallery.add(extract(torch.empty(batch, 3, 224, 224, device="cuda")))
    gallery.save("/dev/null")
    print(len(gallery.bank), torch.cuda.max_memory_allocated() >> 20)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=3000, stacks="python")
    try:
        main()
    finally:
        torch.cuda.memory._dump_snapshot("embed_places.pickle")
