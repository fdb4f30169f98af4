"""See what GPU memory was used for.

``open()`` reads a memory snapshot of PyTorch, ``record()`` makes one, ``dry_run()`` makes one without a GPU,
``explain_text()`` has only the error or the log. Answers are those of the command ``vramscope`` (``--json``); tables go
to polars, DuckDB and pyarrow without a copy. Sizes are in bytes, times in microseconds. A *moment* is a number of events
and means the state after them; 0 is before the first.
"""

from typing import TYPE_CHECKING

from ._dry_run import dry_run
from ._record import Recording, RecordingWarning, record
from ._show import View
from ._snapshot import DamageWarning, Snapshot, open
from ._text import explain_text
from ._vramscope import SnapshotError, Table

__all__ = [
    "DamageWarning",
    "Recording",
    "RecordingWarning",
    "Snapshot",
    "SnapshotError",
    "Table",
    "View",
    "dry_run",
    "explain_text",
    "open",
    "record",
]

if TYPE_CHECKING:
    __version__: str
    """The version of this package and of the command."""
else:

    def __getattr__(name):
        """The version, looked up on first use: importing the lookup takes as long as everything else here."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version

        return version(__name__)
