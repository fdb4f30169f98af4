"""Count birds that pass a wind farm's camera."""
import torch
import torch.nn as nn

from birds.tracker import Tracker


class PatchNet(nn.Module):
    def __init__(self, c=64):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, c, 5, 4, 2), nn.Conv2d(c, c, 3, 2, 1)
        self.where = nn.Conv2d(c, 1, 1)

    def forward(self, frame, birds):
        f = torch.relu(self.b(torch.relu(self.a(frame))))
        heat = self.where(f).flatten().topk(birds).indices
        maps = f[0, :, : 8 * 8, : 16].reshape(1, -1)
        return heat, maps.expand(birds, -1)


@torch.inference_mode()
def watch(net, frames, record_at):
    tracker = Tracker()
    for number in range(frames):
        if number == record_at:
            torch.cuda.memory._record_memory_history(stacks="python")
        frame = torch.empty(1, 3, 720, 1280).cuda()
        _, looks = net(frame, 2)
        tracker.update(number, looks)
        if number % 500 == 0:
            print(number, len(tracker.active), torch.cuda.memory_allocated() >> 20, flush=True)
    return tracker


def main(frames=3600, record_at=3400):
    tracker = watch(PatchNet().cuda().eval(), frames, record_at)
    torch.cuda.memory._dump_snapshot("track_birds.pickle")
    print(len(tracker.finished), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, torch.cuda.memory_reserved() >> 20)


if __name__ == "__main__":
    main()
