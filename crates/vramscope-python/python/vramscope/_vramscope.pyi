"""The extension module: what Python cannot say itself. Use the package `vramscope`, which gives it names and types."""

from os import PathLike
from typing import Any, Optional, Sequence, Tuple, Union, final

__all__ = ["Opened", "SnapshotError", "Table", "open_bytes", "open_file", "run"]

class SnapshotError(ValueError):
    """What is wrong with a snapshot or with a question to it: what, where, and what to do."""

def run(arguments: Sequence[Union[str, bytes]]) -> int: ...
def open_file(path: Union[str, PathLike[str]]) -> Opened: ...
def open_bytes(data: bytes, name: str) -> Opened: ...

@final
class Opened:
    @property
    def name(self) -> str: ...
    @property
    def damage(self) -> list[str]: ...
    @property
    def first_device(self) -> Optional[int]: ...
    def ask(self, arguments: Sequence[str], others: Sequence[Opened]) -> bytes: ...
    def table(self, name: str, device: Optional[int]) -> Table: ...

@final
class Table:
    """A table in Arrow's layout, which pandas, polars, DuckDB and pyarrow take over without a copy.

    Columns of sizes are in bytes, of times UTC timestamps in microseconds. Unknown values are null.
    """

    @property
    def name(self) -> str:
        """The table's name."""

    @property
    def column_names(self) -> list[str]:
        """The names of its columns, in their order."""

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> Tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...
