"""Files made to break us end in an exception or an answer, never in a panic or with the process."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import vramscope
from conftest import FIXTURES

CRASHES = sorted(path for path in (FIXTURES.parent.parent / "fuzz" / "crashes").rglob("*") if path.is_file())
TRAINING = (FIXTURES / "torch-2.15.0" / "training.pickle").read_bytes()


def use(data: bytes) -> None:
    """Asks all questions; a refusal counts as an answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vramscope.DamageWarning)
        try:
            run = vramscope.open(data)
        except vramscope.SnapshotError as refusal:
            assert "bug in vramscope" not in str(refusal)
            return
    questions = [
        lambda: run.info,
        run.peak,
        run.explain,
        lambda: run.at("end"),
        lambda: run.diff(at="start", to="end"),
        lambda: run.ask("oom"),
        lambda: run.ask("find", "live", stack=True),
    ]
    for name in ("events", "allocations", "frames", "stacks", "annotations", "segments", "blocks"):
        questions.append(lambda name=name: run.table(name).__arrow_c_array__())
    for question in questions:
        try:
            question()
        except vramscope.SnapshotError as refusal:
            assert "bug in vramscope" not in str(refusal)


@pytest.mark.parametrize("path", CRASHES, ids=lambda path: path.name)
def test_what_once_broke_us(path: Path) -> None:
    use(path.read_bytes())


@pytest.mark.parametrize("cut", range(0, len(TRAINING), len(TRAINING) // 40))
def test_cut_off_and_damaged(cut: int) -> None:
    use(TRAINING[:cut])
    use(TRAINING[:cut] + bytes([TRAINING[cut] ^ 0x55]) + TRAINING[cut + 1 :])


@pytest.mark.parametrize("data", [b"", b"\x80\x04.", {}, {"segments": None}, {"device_traces": [[{}]], "segments": []}])
def test_what_is_no_snapshot(data: object) -> None:
    if isinstance(data, dict):
        import pickle

        data = pickle.dumps(data)
    assert isinstance(data, bytes)
    use(data)
