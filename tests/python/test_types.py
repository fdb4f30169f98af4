"""The types, by both checkers: the package's own, those of a user's program, and the stub against the module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import List

import pytest


@pytest.mark.parametrize(
    "checker",
    [
        ["mypy", "--strict", "--package", "vramscope"],
        ["mypy", "--strict", "example.py"],
        ["mypy.stubtest", "vramscope._vramscope"],
        ["pyright", "--project", ".", "--pythonpath", sys.executable],
    ],
    ids=lambda words: " ".join(words[:3]),
)
def test_types_are_right(checker: List[str]) -> None:
    command = [sys.executable, "-m", *checker]
    told = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
