"""Whether a program would fit, before there is a GPU: runs ``vramscope dry-run`` in a separate process."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from ._vramscope import SnapshotError

if TYPE_CHECKING:
    PathLike = Union[str, os.PathLike[str]]

_CALL = """
import importlib, runpy, sys
name, file, function = sys.argv[1:]
sys.argv[:] = [file]
found = runpy.run_path(file) if name == "__main__" else vars(importlib.import_module(name))
found[function]()
"""
"""Calls a function of a module. A program's file is run under another name than ``__main__``."""


def dry_run(
    program: Union[Callable[[], Any], Sequence[PathLike]],
    *,
    gpu: str = "h100",
    output: Optional[PathLike] = None,
    fit: Optional[Tuple[int, int]] = None,
    rank: Optional[int] = None,
    world: Optional[int] = None,
) -> Dict[str, Any]:
    """Runs a program without a GPU over a stand-in for CUDA, and says whether it would fit: ``vramscope dry-run``.

        answer = vramscope.dry_run(["python", "train.py", "--batch-size", "8"], gpu="rtx4090")
        answer["fits"], answer["reserved_bytes"]
        vramscope.dry_run(train, gpu="24GiB")
        vramscope.dry_run(["python", "train.py", "--batch-size", "{}"], fit=(1, 64))["largest_that_fits"]

    The program is a command, or a function without arguments. A function is called in a new process, in which its
    module is imported, or its file is run without the part below ``if __name__ == "__main__"``; so it cannot be a
    lambda, an inner function or defined in a notebook. Nothing is shared with this process, and no GPU is touched.

    Returns the answer about the process that reserved most: ``verdict``, ``fits`` (``None`` if unknown),
    ``active_bytes``, ``reserved_bytes`` and the tables that ``vramscope man json`` describes. ``output`` keeps the
    snapshot. The program's output goes to standard error. A program that fails for another reason than memory,
    or cannot be run, raises ``SnapshotError``; so does a range in which nothing fits.
    """
    command = [os.fspath(word) for word in (_called(program) if callable(program) else program)]
    options = ["--json", "--gpu", gpu]
    if output is not None:
        options += ["--output", os.fspath(output)]
    if fit is not None:
        options += ["--fit", f"{fit[0]}..{fit[1]}"]
    if rank is not None:
        options += ["--rank", str(rank)]
    if world is not None:
        options += ["--world", str(world)]
    environment = dict(os.environ)
    if callable(program):
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    ours = [sys.executable, "-m", "vramscope", "dry-run", *options, "--", *command]
    ran = subprocess.run(ours, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    sys.stderr.write(ran.stderr)
    try:
        answer: Dict[str, Any] = json.loads(ran.stdout)["parts"][0]
    except (ValueError, LookupError):
        lines = ran.stderr.strip().splitlines()
        raise SnapshotError(lines[-1] if lines else f"exit code {ran.returncode}") from None
    if ran.returncode != 0 and answer["fits"] is not False:
        raise SnapshotError(answer["verdict"])
    return answer


def _called(function: Callable[[], Any]) -> List[str]:
    """The command that calls a function in a new process."""
    name, module = function.__qualname__, inspect.getmodule(function)
    file = inspect.getsourcefile(function)
    if not name.isidentifier() or module is None or file is None or not Path(file).is_file():
        raise ValueError(f"{name} is no function of a module that another process can import: name a command instead")
    return [sys.executable, "-c", _CALL, module.__name__, file, name]
