"""Recording over a torch that only remembers its calls."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import vramscope
from conftest import FakeTorch


def names(folder: Path) -> list[str]:
    """All files below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_block_leaves_a_file(torch: FakeTorch, tmp_path: Path) -> None:
    with vramscope.record(tmp_path / "new" / "run.pickle", max_entries=7, compile_context=True) as recording:
        assert torch.is_recording
    settings = {"max_entries": 7, "stacks": "all", "compile_context": True}
    assert torch.calls == [("all", settings), (None, {})]
    assert names(tmp_path) == ["new/run.pickle"]
    assert recording.paths == [tmp_path / "new" / "run.pickle"]
    assert vramscope.open(recording.paths[0]).peak()["peak_bytes"] > 0


def test_earlier_settings_stay(torch: FakeTorch, tmp_path: Path) -> None:
    torch.is_recording = True
    with vramscope.record(tmp_path / "outer.pickle"), vramscope.record(tmp_path / "inner.pickle"):
        pass
    assert torch.calls == [] and torch.is_recording
    assert names(tmp_path) == ["inner.pickle", "outer.pickle"]


def test_exceptions_pass(torch: FakeTorch, tmp_path: Path) -> None:
    with pytest.raises(KeyError), vramscope.record(tmp_path / "run.pickle"):
        raise KeyError("mine")
    assert names(tmp_path) == ["run.pickle"] and not torch.is_recording


@pytest.mark.parametrize("are_errors", [False, True])
def test_a_file_that_cannot_be_written_hides_nothing(
    torch: FakeTorch, tmp_path: Path, are_errors: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    torch.fails = OSError("the disk is full")
    import warnings

    with warnings.catch_warnings(record=not are_errors) as caught:
        warnings.simplefilter("error" if are_errors else "always")
        with pytest.raises(KeyError), vramscope.record(tmp_path / "run.pickle") as recording:
            torch.run_out_of_memory()
            with pytest.raises(OSError, match="full"):
                recording.dump()
            raise KeyError("mine")
    said = capfd.readouterr().err if are_errors else "".join(str(one.message) for one in caught or [])
    assert said.count("the disk is full") == 2
    assert names(tmp_path) == [] and recording.paths == [] and not torch.is_recording


def test_failed_requests_are_written_at_once(torch: FakeTorch, tmp_path: Path) -> None:
    with vramscope.record(tmp_path / "run.pickle"):
        torch.run_out_of_memory()
        assert names(tmp_path) == ["oom_run.pickle"]
        for _ in range(40):
            torch.run_out_of_memory()
    assert len(names(tmp_path)) == 16 + 1
    assert {"run.pickle", "oom_run.pickle", "oom_16_run.pickle"} <= set(names(tmp_path))
    torch.run_out_of_memory()
    with vramscope.record(tmp_path / "quiet" / "run.pickle", on_oom=False):
        torch.run_out_of_memory()
    assert names(tmp_path / "quiet") == ["run.pickle"]
    assert len(torch.observers) == 1


def test_steps(torch: FakeTorch, tmp_path: Path) -> None:
    path = tmp_path / "iteration_{step}" / "rank{rank}_memory_snapshot.pickle"
    exit_path = tmp_path / "iteration_{step}_exit" / "rank{rank}_memory_snapshot.pickle"
    with vramscope.record(path, on_oom=exit_path, every=2, step=3) as recording:
        assert [recording.step() for _ in range(4)] == [4, 5, 6, 7]
        torch.run_out_of_memory()
    name = "rank0_memory_snapshot.pickle"
    expected = [f"iteration_{step}/{name}" for step in (4, 6, 7)] + [f"iteration_7_exit/{name}"]
    assert names(tmp_path) == sorted(expected)
    assert recording.step(100) == 100


def test_ranks(torch: FakeTorch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    with vramscope.record(tmp_path / "run.pickle"):
        torch.run_out_of_memory()
    with vramscope.record(tmp_path / "snapshot.pickle", on_oom=tmp_path / "oom_rank-{rank}_snapshot.pickle"):
        torch.run_out_of_memory()
    with vramscope.record(tmp_path / "mem" / "{time}" / "periodic_rank{rank}_pid{pid}.pickle"):
        pass
    found = names(tmp_path)
    verl = [name for name in found if name.startswith("mem/")]
    assert len(verl) == 1 and re.fullmatch(r"mem/\d{8}-\d{6}/periodic_rank3_pid\d+\.pickle", verl[0])
    assert found[1:] == [
        "oom_rank-3_snapshot.pickle",
        "oom_rank3_run.pickle",
        "rank3_run.pickle",
        "rank3_snapshot.pickle",
    ]


@pytest.mark.parametrize("name", ["run_{ranks}.pickle", "{rank.foo}", "{rank[0]}", "{}", "{rank"])
def test_unknown_fields_fail_at_once(name: str) -> None:
    with pytest.raises(ValueError, match="{rank}, {world}"):
        vramscope.record(name)
    with pytest.raises(ValueError, match="{rank}, {world}"):
        vramscope.record("run.pickle", on_oom=name)


@pytest.mark.parametrize("name", ["", ".", "folder", "folder/", "new/", "folder/{rank}"])
def test_a_folder_s_name_fails_at_once(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder" / "0").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="is a folder: name a file in it"):
        vramscope.record(name)
    with pytest.raises(ValueError, match="is a folder: name a file in it"):
        vramscope.record("run.pickle", on_oom=name)


def test_wrong_settings_fail_at_once() -> None:
    with pytest.raises(ValueError, match="every counts steps from 1, not 0"):
        vramscope.record("run.pickle", every=0)
    with pytest.raises(TypeError, match="every counts steps from 1, not 2.5"):
        vramscope.record("run.pickle", every=2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_entries counts events from 1, not -1"):
        vramscope.record("run.pickle", max_entries=-1)
    with pytest.raises(ValueError, match="stacks is 'python' or 'all', not 'bogus'"):
        vramscope.record("run.pickle", stacks="bogus")  # type: ignore[arg-type]


def test_after_the_block_its_file_stays(torch: FakeTorch, tmp_path: Path) -> None:
    with vramscope.record(tmp_path / "run.pickle", every=2) as recording:
        pass
    good, torch.snapshot = torch.snapshot, b"without events"
    with pytest.raises(RuntimeError, match="nothing is being recorded"):
        recording.dump()
    assert [recording.step(), recording.step()] == [1, 2]
    assert (tmp_path / "run.pickle").read_bytes() == good


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match="needs PyTorch.*: pip install torch"):
        with vramscope.record(tmp_path / "run.pickle"):
            pytest.fail("the block ran")


def test_without_a_gpu_programs_run_as_before(torch: FakeTorch, tmp_path: Path) -> None:
    torch.is_available = False
    with pytest.warns(vramscope.RecordingWarning, match="has no device") as warned:
        with vramscope.record(tmp_path / "run.pickle", every=1) as recording:
            recording.step()
            with pytest.raises(RuntimeError, match="nothing is being recorded"):
                recording.dump()
    assert torch.calls == [] and names(tmp_path) == []
    assert [warning.filename for warning in warned] == [__file__], "it points at the program"


def test_a_backend_that_this_torch_lacks(torch: FakeTorch, tmp_path: Path) -> None:
    with pytest.warns(vramscope.RecordingWarning, match="torch.gpu has no recorder of memory in this torch"):
        with vramscope.record(tmp_path / "run.pickle", backend="gpu"):
            pass
    assert torch.calls == [] and names(tmp_path) == []


def test_torch_2_0_has_other_words(torch: FakeTorch, tmp_path: Path) -> None:
    calls = []

    def old(enabled, record_context=True, trace_alloc_max_entries=1, trace_alloc_record_context=False):  # type: ignore[no-untyped-def]
        calls.append((enabled, trace_alloc_max_entries, trace_alloc_record_context))

    torch.module.cuda.memory._record_memory_history = old  # type: ignore[attr-defined]
    del torch.module._C._cuda_isHistoryEnabled  # type: ignore[attr-defined]
    with vramscope.record(tmp_path / "run.pickle", max_entries=9):
        pass
    assert calls == [(True, 9, True), (False, 1, False)]
