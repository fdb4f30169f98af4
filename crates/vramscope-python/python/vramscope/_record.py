"""Recording with PyTorch's own recorder, and the names of the files.

It must never harm a program: existing settings stay, an exception of the program is never replaced by one
of ours, and a file appears only when it is complete.
"""

from __future__ import annotations

import importlib
import inspect
import os
import socket
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, Union

from ._numbers import whole

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Literal, Type

    PathLike = Union[str, os.PathLike[str]]

_MAX_OOM_FILES = 16
"""A program that catches the error and tries again may fail thousands of times; the first failures say most."""

_RANKS = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
"""The variables in which launchers pass a process its rank and the number of ranks."""

_active: List[Recording] = []
"""Open recordings, innermost last."""

_observed: List[Any] = []
"""The backends that our observer of failed requests is attached to: torch cannot detach one."""


class RecordingWarning(UserWarning):
    """A file could not be written, or nothing could be recorded; the program continues."""


def record(
    path: PathLike,
    *,
    on_oom: Union[bool, PathLike] = True,
    every: Optional[int] = None,
    step: int = 0,
    max_entries: int = 1_000_000,
    stacks: Literal["python", "all"] = "all",
    backend: str = "cuda",
    **options: Any,
) -> Recording:
    """Records what a block of code allocates, and writes it to a file however the block ends.

        with vramscope.record("run.pickle"):
            train()

        with vramscope.record("memory/iteration_{step}/rank{rank}_memory_snapshot.pickle", every=100) as recording:
            for batch in data:
                train(batch)
                recording.step()

    In names, ``{rank}``, ``{world}``, ``{step}``, ``{pid}``, ``{host}`` and ``{time}`` (``20260131-235959``, when the
    recording began) are replaced by their values. In a job of several ranks a name without ``{rank}`` and ``{pid}`` gets
    ``rank3_`` in front, so that no rank overwrites another's file. To name files as other programs do:

        torchtitan   memory_snapshot/iteration_{step}/rank{rank}_memory_snapshot.pickle
                     on_oom=memory_snapshot/iteration_{step}_exit/rank{rank}_memory_snapshot.pickle
        Megatron-LM  snapshot.pickle, on_oom=oom_rank-{rank}_snapshot.pickle
        verl         mem_snapshots/{time}/periodic_rank{rank}_pid{pid}.pickle

    If memory is already being recorded, that continues with its own settings, even afterwards; otherwise recording ends
    with the block. Without a GPU nothing is recorded, with a ``RecordingWarning``. An exception of the block always passes.

    Args:
        path: The file to write at the end of the block. Folders are created.
        on_oom: Whether a request that fails for lack of memory is written at once, before anything is freed: to
            ``oom_`` and the name, or to this path. Also if the program catches the error; at most 16 files.
        every: Write a file at each step whose number is a multiple of this; ``path`` should contain ``{step}``.
        step: The number of the step before the first.
        max_entries: Maximum number of events stored; older ones are dropped.
        stacks: ``"all"``, with C++ frames: memory of the backward pass has no others. ``"python"`` is written
            sooner, since names of C++ frames are looked up only then, which takes minutes for a million events.
        backend: ``"cuda"`` (also ROCm), or another module of torch with a recorder of this kind: ``"xpu"``, ``"npu"``.
        options: Further arguments of ``torch.cuda.memory._record_memory_history``.

    Raises:
        ValueError: An argument is invalid, such as the path of a folder; raised before anything is recorded.
        TypeError: An argument has a wrong type.
        ModuleNotFoundError: The block begins, and there is no torch.
    """
    return Recording(
        path,
        on_oom=on_oom,
        every=every,
        step=step,
        backend=backend,
        settings={"max_entries": max_entries, "stacks": stacks, **options},
    )


class Recording:
    """A recording of memory; ``vramscope.record()`` makes one, to be used with ``with``.

    Attributes:
        paths: The files written so far.
    """

    def __init__(
        self,
        path: PathLike,
        *,
        on_oom: Union[bool, PathLike],
        every: Optional[int],
        step: int,
        backend: str,
        settings: Dict[str, Any],
    ) -> None:
        if every is not None:
            every = whole(every, "every counts steps from 1", 1)
        whole(settings["max_entries"], "max_entries counts events from 1", 1)
        if settings["stacks"] not in ("python", "all"):
            raise ValueError(f"stacks is 'python' or 'all', not {settings['stacks']!r}")
        self.paths: List[Path] = []
        self._path = Path(path)
        self._on_oom = on_oom
        self._every = every
        self._step = step
        self._backend = backend
        self._settings = settings
        self._memory: Any = None
        self._began = ""
        self._is_ours = False
        self._oom_files = 0
        # Fails here, and not after hours, for a name with an unknown field or that of a folder.
        for name in [path] if isinstance(on_oom, bool) else [path, on_oom]:
            if str(name).endswith(os.sep) or self._named(Path(name)).is_dir():
                raise ValueError(f"{str(name)!r} is a folder: name a file in it")

    def __enter__(self) -> Recording:
        self._began = time.strftime("%Y%m%d-%H%M%S")
        module = getattr(_torch(), self._backend, None)
        memory = getattr(module, "memory", None)
        if module is None or memory is None or not module.is_available():
            lack = "no device here" if memory else "no recorder of memory in this torch"
            _warn(f"torch.{self._backend} has {lack}: nothing is recorded")
            return self
        self._memory = memory
        # torch 2.15 crashes (SIGSEGV) when asked whether it records before its allocator exists.
        initialise = getattr(module, "init", None)
        if initialise is not None:
            initialise()
        if not _is_recording(self._backend):
            _switch(self._memory, True, self._settings)
            self._is_ours = True
        if self._on_oom is not False:
            _observe(self._backend)
        _active.append(self)
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self._memory is None:
            return
        if self in _active:
            _active.remove(self)
        try:
            self._write(self._path)
        except Exception as problem:
            _warn(f"cannot write {self._path}: {problem}")
        finally:
            self._stop()
            # A later dump would have no events, and would replace the file that has them.
            self._memory = None

    def step(self, number: Optional[int] = None) -> int:
        """Begins a step: the next one, or the one of this number. Returns its number.

        With ``every``, multiples of it write a file; if that fails, the program continues. Outside the block
        nothing is written.
        """
        self._step = self._step + 1 if number is None else number
        if self._every is not None and self._step % self._every == 0 and self._memory is not None:
            try:
                self._write(self._path)
            except Exception as problem:
                _warn(f"cannot write {self._path}: {problem}")
        return self._step

    def dump(self, path: Optional[PathLike] = None) -> Path:
        """Writes what was recorded so far, to the recording's file or to another one. Returns its path.

        Raises:
            OSError: It cannot be written.
            RuntimeError: Nothing is being recorded.
        """
        if self._memory is None:
            raise RuntimeError("nothing is being recorded: use this inside the block, on a machine with a GPU")
        return self._write(self._path if path is None else Path(path))

    def _write(self, path: Path, prefix: str = "") -> Path:
        """Writes a file under a temporary name, then renames it."""
        place = self._named(path)
        place = place.with_name(prefix + place.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = place.with_name(f".vramscope-{os.getpid()}-{place.name}")
        try:
            self._memory._dump_snapshot(str(beside))
            os.replace(beside, place)
        except BaseException:
            try:
                beside.unlink()
            except OSError:
                pass
            raise
        if place not in self.paths:
            self.paths.append(place)
        return place

    def _write_oom(self) -> None:
        """A request failed. Whatever happens here, the program must get its own error."""
        if self._on_oom is False or self._oom_files >= _MAX_OOM_FILES:
            return
        self._oom_files += 1
        number = "" if self._oom_files == 1 else f"{self._oom_files}_"
        try:
            if isinstance(self._on_oom, bool):
                self._write(self._path, f"oom_{number}")
            else:
                self._write(Path(self._on_oom), number)
        except Exception as problem:
            _warn(f"cannot write what was live when memory ran out: {problem}")

    def _named(self, path: Path) -> Path:
        """The path with its fields filled in."""
        rank, world = _rank()
        fields = {
            "rank": rank,
            "world": world,
            "step": self._step,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "time": self._began,
        }
        text = str(path)
        try:
            place = Path(text.format_map(fields))
        except (AttributeError, LookupError, TypeError, ValueError) as problem:
            known = ", ".join(f"{{{field}}}" for field in fields)
            raise ValueError(f"{text}: a name may have the fields {known}, and no others ({problem})") from None
        if world > 1 and "{rank" not in text and "{pid" not in text:
            place = place.with_name(f"rank{rank}_{place.name}")
        return place

    def _stop(self) -> None:
        if not self._is_ours:
            return
        self._is_ours = False
        try:
            _switch(self._memory, False, {})
        except Exception as problem:
            _warn(f"cannot end the recording: {problem}", calls=2)

    def __repr__(self) -> str:
        return f"<vramscope.Recording {self._path}>"


def _warn(text: str, calls: int = 1) -> None:
    """Warns, even if warnings are errors, which would hide the program's own error. The program is ``calls`` levels up."""
    try:
        warnings.warn(f"vramscope: {text}", RecordingWarning, stacklevel=2 + calls)
    except RecordingWarning:
        print(f"vramscope: {text}", file=sys.stderr)


def _torch() -> Any:
    """The user's torch, which is not a dependency of this package."""
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError as missing:
        if missing.name != "torch":
            raise
        asked = "recording needs PyTorch, which this Python does not have: pip install torch"
        raise ModuleNotFoundError(asked, name="torch") from None


def _is_recording(backend: str) -> bool:
    """Whether memory is being recorded. A torch that cannot tell (2.0) counts as not recording."""
    is_enabled: Optional[Callable[[], bool]] = getattr(_torch()._C, f"_{backend}_isHistoryEnabled", None)
    return bool(is_enabled()) if is_enabled is not None else False


def _switch(memory: Any, on: bool, settings: Dict[str, Any]) -> None:
    """Starts or stops recording, with this torch version's arguments."""
    function = memory._record_memory_history
    known = inspect.signature(function).parameters
    if "trace_alloc_max_entries" in known:  # torch 2.0
        function(
            on,
            trace_alloc_max_entries=settings.get("max_entries", 1),
            trace_alloc_record_context=on,
        )
    elif len(known) <= 2 and not any(one.kind is one.VAR_KEYWORD for one in known.values()):  # torch 1.13
        function(on)
    else:
        function("all" if on else None, **settings)


def _observe(backend: str) -> None:
    """Attaches our observer of failed requests, once: torch keeps it for ever, so it checks who is recording."""
    attach = getattr(_torch()._C, f"_{backend}_attach_out_of_memory_observer", None)
    if attach is None:
        _warn(f"this torch tells nobody when memory of torch.{backend} runs out: on_oom has no effect", calls=2)
    elif backend not in _observed:
        attach(lambda *_: _out_of_memory(backend))
        _observed.append(backend)


def _out_of_memory(backend: str) -> None:
    for recording in list(_active):
        if recording._backend == backend:
            recording._write_oom()


def _rank() -> Tuple[int, int]:
    """This process's rank and the number of ranks: from torch.distributed, or from the launcher, or 0 of 1."""
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return int(distributed.get_rank()), int(distributed.get_world_size())
    except Exception:
        pass
    for rank, world in _RANKS:
        try:
            return int(os.environ[rank]), int(os.environ[world])
        except (KeyError, ValueError):
            continue
    return 0, 1
