"""The command inside the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import vramscope
from conftest import FIXTURES, program

TRAINING = FIXTURES / "torch-2.15.0" / "training.pickle"


def installed(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    """Runs the command as pip installed it, beside this Python."""
    command = Path(sys.executable).with_name("vramscope")
    return subprocess.run([command, *map(str, arguments)], capture_output=True, stdin=subprocess.DEVNULL, check=False)


def test_the_package_tells_its_version() -> None:
    assert installed("--version").stdout.decode().split()[1] == vramscope.__version__


@pytest.mark.parametrize(
    "arguments",
    [
        ["peak", TRAINING, "--json"],
        ["info", TRAINING],
        ["--version"],
        ["--help"],
        ["man", "json"],
        ["info", "missing.pickle"],
        ["peak", "--no-such-option"],
        ["check", TRAINING, "--max-peak", "1KiB"],
    ],
    ids=str,
)
def test_it_is_the_program(arguments: list[object]) -> None:
    expected, got = program(*arguments), installed(*arguments)
    assert (got.returncode, got.stdout, got.stderr) == (expected.returncode, expected.stdout, expected.stderr)
    module = subprocess.run(
        [sys.executable, "-m", "vramscope", *map(str, arguments)], capture_output=True, check=False
    )
    assert module.stdout == expected.stdout


def test_it_writes_files(tmp_path: Path) -> None:
    ran = installed("convert", TRAINING, "-o", tmp_path / "out.json")
    assert ran.returncode == 0, ran.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["out.json"]
    assert (tmp_path / "out.json").stat().st_size > 1000
