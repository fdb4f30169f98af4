import dataclasses

import torch


@dataclasses.dataclass
class Track:
    number: int
    born: int
    look: torch.Tensor
    seen: int = 0


class Tracker:
    def __init__(self, patience=12):
        self.patience, self.active, self.finished, self._next = patience, [], [], 0

    def update(self, frame, looks):
        """The oldest tracks end, new ones start with the patch seen now."""
        keep = []
        for track in self.active:
            (keep if frame - track.seen <= self.patience else self.finished).append(track)
        for look in looks:
            keep.append(Track(self._next, frame, look.clone(), frame))
            self._next += 1
        self.active = keep
        return len(keep)
