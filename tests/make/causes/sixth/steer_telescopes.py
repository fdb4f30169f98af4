"""Adaptive optics of two telescopes: camera frames to the mirrors' shapes, through a small network."""
import logging

import torch

from optics.recorder import FlightRecorder
from optics.wavefront import Mirror, Reconstructor

log = logging.getLogger("optics")
log.setLevel(logging.DEBUG)
log.addHandler(FlightRecorder("out/flight.log"))


@torch.no_grad()
def night(frames=1500, side=256):
    net = Reconstructor().cuda().eval()
    mirror = Mirror(4 * side)
    for number in range(frames):
        spots = torch.empty(2, 2, side, side).cuda()
        phase = net(spots)
        residual = mirror.correct(phase)
        log.debug("frame %d residual %s", number, residual)
        if number % 100 == 0:
            log.info("frame %d strehl %.3f", number, 0.8)
            print(number, torch.cuda.memory_allocated() >> 20, torch.cuda.max_memory_allocated() >> 20, flush=True)


if __name__ == "__main__":
    torch.cuda.memory._record_memory_history(max_entries=8000, stacks="python")
    try:
        night()
    except RuntimeError as error:
        print(error)
        torch.cuda.memory._dump_snapshot("steer_telescopes.pickle")
        raise SystemExit(1)
