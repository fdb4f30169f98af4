"""Shared by the tests of the Python package: the fixtures, the program to compare with, and a fake torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

FIXTURES = Path(__file__).parent.parent / "fixtures"
PROGRAM = os.environ.get("VRAMSCOPE_BIN", "vramscope")


def snapshots() -> List[Path]:
    """Every snapshot among the fixtures that can be read."""
    endings = (".pickle", ".pickle.zst", ".pickle.gz", ".vram", ".json", ".zip", ".html")
    folders = ("allocator", "containers", "legacy", "roles", "synth")
    found = [
        path
        for folder in sorted(FIXTURES.iterdir())
        if folder.name in folders or folder.name.startswith("torch-")
        for path in sorted(folder.iterdir())
        if path.name.endswith(endings)
    ]
    assert len(found) > 50
    return found


def program(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    """Runs the command line, which a release or the tests built on its own."""
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, stdin=subprocess.DEVNULL, check=False)


@pytest.fixture
def ask() -> Callable[..., List[Dict[str, Any]]]:
    """The parts that the command line answers."""

    def parts(*arguments: object) -> List[Dict[str, Any]]:
        ran = program(*arguments, "--json")
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)["parts"]

    return parts


class FakeTorch:
    """A torch that records nothing, but remembers its calls and writes a file of a fixture's bytes."""

    def __init__(self) -> None:
        self.calls: List[Any] = []
        self.observers: List[Callable[..., None]] = []
        self.is_recording = False
        self.is_available = True
        self.is_initialized = False
        self.fails: BaseException | None = None
        self.snapshot = (FIXTURES / "torch-2.15.0" / "training.pickle").read_bytes()
        self.module = types.ModuleType("torch")
        memory = types.SimpleNamespace(
            _record_memory_history=self._record_memory_history, _dump_snapshot=self._dump_snapshot
        )
        self.module.cuda = types.SimpleNamespace(memory=memory, is_available=lambda: self.is_available, init=self._init)  # type: ignore[attr-defined]
        self.module._C = types.SimpleNamespace(  # type: ignore[attr-defined]
            _cuda_isHistoryEnabled=self._is_history_enabled,
            _cuda_attach_out_of_memory_observer=self.observers.append,
        )

    def _init(self) -> None:
        self.is_initialized = True

    def _is_history_enabled(self) -> bool:
        assert self.is_initialized, "torch 2.15 would crash here"
        return self.is_recording

    def _record_memory_history(self, enabled: Any = "all", *arguments: Any, **options: Any) -> None:
        self.calls.append((enabled, options))
        self.is_recording = enabled is not None

    def _dump_snapshot(self, filename: str = "dump_snapshot.pickle") -> None:
        if self.fails is not None:
            Path(filename).write_bytes(b"half")
            raise self.fails
        Path(filename).write_bytes(self.snapshot)

    def run_out_of_memory(self) -> None:
        """What torch does before it raises."""
        for observer in self.observers:
            observer(0, 1 << 30, 8 << 30, 1 << 20)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTorch]:
    """A fake torch, in place of a real one."""
    import vramscope._record

    fake = FakeTorch()
    monkeypatch.setitem(sys.modules, "torch", fake.module)
    monkeypatch.setattr(vramscope._record, "_observed", [])
    for name in ("RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    yield fake
    assert vramscope._record._active == []
