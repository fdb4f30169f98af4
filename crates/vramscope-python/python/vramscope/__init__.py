"""See what GPU memory was used for.

``open()`` reads a memory snapshot of PyTorch, ``record()`` makes one. Answers are those of the command ``vramscope``
(``--json``), tables go to polars, DuckDB and pyarrow without a copy. Sizes are in bytes, times in
microseconds. A *moment* is a number of events and means the state after them; 0 is before the first.
"""

from ._record import Recording, RecordingWarning, record
from ._show import View
from ._snapshot import DamageWarning, Snapshot, open
from ._vramscope import SnapshotError, Table

__all__ = [
    "DamageWarning",
    "Recording",
    "RecordingWarning",
    "Snapshot",
    "SnapshotError",
    "Table",
    "View",
    "open",
    "record",
]
