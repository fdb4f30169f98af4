"""The command inside the package."""

from __future__ import annotations

import os
import signal
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


@pytest.mark.skipif(sys.platform == "win32", reason="record is for Unix")
def test_it_records_and_leaves_signals_to_the_program(tmp_path: Path) -> None:
    """The fake torch is that of the tests of vramscope-launch."""
    torch = FIXTURES.parent.parent / "crates/vramscope-launch/tests/torch"
    script = (
        "import signal, sys, time, torch\n"
        "signal.signal(signal.SIGINT, lambda *_: sys.exit(5))\n"
        "torch.use(); print('ready', flush=True); time.sleep(60)"
    )
    module = [sys.executable, "-m", "vramscope", "record", "-o", "run", "--", sys.executable, "-c", script]
    with subprocess.Popen(
        module,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(torch)},
    ) as ran:
        assert ran.stdout is not None
        assert ran.stdout.readline() == b"ready\n"
        ran.send_signal(signal.SIGINT)
        _, said = ran.communicate(timeout=60)
    assert ran.returncode == 5, said
    assert b"Traceback" not in said
    assert [file.suffix for file in (tmp_path / "run").iterdir()] == [".pickle"]
