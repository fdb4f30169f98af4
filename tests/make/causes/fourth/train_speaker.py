"""x-vectors for telephone speech."""
import torch

from speaker.net import TDNN
from speaker.tools import tidy


def train(batches=45):
    net = TDNN().cuda()
    sgd = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    for n in range(batches):
        with tidy():
            speech, who = torch.empty(64, 64, 300 + 20 * (n % 5), device="cuda"), torch.zeros(64, dtype=torch.long, device="cuda")
            loss = torch.nn.functional.cross_entropy(net(speech), who)
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            value = loss.item()
            del loss, speech, who
    print(value, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    train()
    torch.cuda.memory._dump_snapshot("train_speaker.pickle")
