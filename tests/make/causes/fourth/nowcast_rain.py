"""Rain in the next two hours from the radar mosaic; runs every five minutes."""
import torch

from nowcast.jobs import Later
from nowcast.model import Nowcaster

later = Later()


def draw(name, fields):
    fields.cpu().amax((1, 2, 3))


def cycle(model, number, radar):
    radar = radar.cuda()
    with torch.no_grad():
        fields = model(torch.log1p(radar), ahead=24)
    alarm = (fields > 30).any().cpu()
    later.add(lambda: draw(f"cycle-{number:05d}", fields))
    return alarm


def main(cycles=288):
    model = Nowcaster().cuda().eval()
    torch.cuda.memory._record_memory_history(max_entries=8000, stacks="python")
    for number in range(cycles):
        cycle(model, number, torch.empty(1, 12, 1100, 900))
        if number % 48 == 0:
            print(number, len(later), torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)
    later.run()


if __name__ == "__main__":
    try:
        main()
    except torch.OutOfMemoryError:
        print(len(later), "jobs wait")
        torch.cuda.memory._dump_snapshot("nowcast_rain.pickle")
        raise
