"""A small RNN-T on LibriSpeech, shortest utterances first."""
import torch

from speech.transducer import Transducer, lattice_loss

BUCKETS = [(300, 14), (420, 20), (560, 28), (740, 38), (960, 50), (1250, 66), (1800, 88)]  # frames, tokens


def train(model, optimizer, buckets, batch_size=64):
    for frames, tokens in buckets:
        mel = torch.empty(batch_size, frames, 80).cuda()
        text = torch.zeros(batch_size, tokens, dtype=torch.long).cuda()
        loss = lattice_loss(model(mel, text), text)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(frames, tokens, loss.item(), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    model = Transducer().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    try:
        train(model, optimizer, BUCKETS)
    except torch.OutOfMemoryError:
        torch.cuda.memory._dump_snapshot("train_transducer.pickle")
        raise
