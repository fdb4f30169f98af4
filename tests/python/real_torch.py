"""Recording with a real torch: over its own allocator, on a GPU or on the CUDA runtime that stands in for one.

    PYTHON=/path/to/venv/bin/python SCRIPT=../python/real_torch.py sh tests/make/standin.sh

The environment needs a CUDA build of torch, and this package.
"""

import tempfile
import warnings
from pathlib import Path

import torch
import vramscope

MIB = 1 << 20


def work() -> list:
    """Allocates 3 MiB that stay and 8 that go."""
    kept = [torch.empty(MIB, dtype=torch.uint8, device="cuda") for _ in range(3)]
    gone = torch.empty(8 * MIB, dtype=torch.uint8, device="cuda")
    del gone
    return kept


def is_recording() -> bool:
    """Whether torch records now; None where it cannot tell."""
    tell = getattr(torch._C, "_cuda_isHistoryEnabled", None)
    return None if tell is None else bool(tell())


def a_block(folder: Path) -> None:
    # Nothing of torch was used before: its allocator does not exist yet.
    with vramscope.record(folder / "run.pickle", max_entries=1000) as recording:
        kept = work()
        live = vramscope.open(torch.cuda.memory._snapshot())
    assert not is_recording()
    run = vramscope.open(recording.paths[0])
    assert run.peak()["peak_bytes"] >= 11 * MIB, run.peak()
    assert live.peak()["peak_bytes"] == run.peak()["peak_bytes"]
    assert any("work" in group["group"] for group in run.peak(group_by="function")["live"])
    assert len(run.events()) <= 1000
    del kept


def earlier_settings(folder: Path) -> None:
    torch.cuda.memory._record_memory_history(max_entries=5)
    with vramscope.record(folder / "inner.pickle", max_entries=1000) as recording:
        work()
    # Six or more events happened; the settings from before kept five of them.
    if is_recording() is not None:
        assert is_recording()
        assert len(vramscope.open(recording.paths[0]).events()) == 5
    torch.cuda.memory._record_memory_history(None)


def out_of_memory(folder: Path) -> None:
    try:
        with vramscope.record(folder / "oom" / "run.pickle") as recording:
            kept = work()
            torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        pass
    else:
        raise AssertionError("the program's own error was lost")
    assert [path.name for path in recording.paths] == ["oom_run.pickle", "run.pickle"]
    oom = vramscope.open(recording.paths[0])
    assert oom.at("oom")["event_action"] == "oom"
    failure = [part for part in oom.ask("oom") if "failure" in part][0]
    assert failure["requested_bytes"] == 1 << 45
    assert oom.findings()[0]["severity"] == "problem"
    del kept


with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    warnings.simplefilter("error", vramscope.RecordingWarning)
    for test in (a_block, earlier_settings, out_of_memory):
        test(Path(folder))
        print(f"{test.__name__}: ok")
print(f"torch {torch.__version__} is recorded as it should be")
