"""Align translations of novels sentence by sentence: similarity of all pairs once, then fine alignment in small windows."""
import torch
import torch.nn.functional as F


class Encoder(torch.nn.Module):
    def __init__(self, vocab=32_000, d=512):
        super().__init__()
        self.bag = torch.nn.Embedding(vocab, d)
        self.mix = torch.nn.Sequential(torch.nn.Linear(d, d), torch.nn.GELU(), torch.nn.Linear(d, d))

    def forward(self, sentences):
        return F.normalize(self.mix(self.bag(sentences).mean(-2)), dim=-1)


def margin(a, b):
    """Cosine over the mean of both nearest neighbours' cosines; returns the best partner of each sentence."""
    cosine = a @ b.T
    near = cosine.amax(1)[:, None] + cosine.amax(0)
    return (cosine / (near / 2)).argmax(1).cpu()


def fine(encoder, window):
    left, right = encoder(window[0]), encoder(window[1])
    return (left[:, None] * right[None]).sum(-1).max(1).values.cpu()


@torch.inference_mode()
def main(sentences=26_000, windows=250):
    torch.cuda.memory._record_memory_history(stacks="python")
    encoder = Encoder().cuda().eval()
    english, french = (encoder(torch.zeros(sentences, 30, dtype=torch.long, device="cuda")) for _ in range(2))
    anchors = margin(english, french)
    print("coarse", torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)
    del english, french
    for start in range(windows):
        fine(encoder, torch.zeros(2, 120, 30, dtype=torch.long, device="cuda"))
    print(len(anchors), torch.cuda.memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)
    torch.cuda.memory._dump_snapshot("align_books.pickle")


if __name__ == "__main__":
    main()
