"""Answers are the command line's, and so are error messages."""

from __future__ import annotations

import json
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
import vramscope
import vramscope._answers as answers
from conftest import FIXTURES, program, snapshots

TRAINING = FIXTURES / "torch-2.15.0" / "training.pickle"
TWO_DEVICES = FIXTURES / "torch-2.15.0" / "two_devices.pickle"
OOM = FIXTURES / "torch-2.15.0" / "oom_observer.pickle"


@pytest.mark.parametrize("path", snapshots(), ids=lambda path: f"{path.parent.name}/{path.name}")
@pytest.mark.filterwarnings("ignore::vramscope.DamageWarning")
def test_every_fixture_opens(path: Path) -> None:
    run = vramscope.open(path)
    assert set(run.peaks) == {part["device"] for part in run.devices}
    for device, peak_bytes in run.peaks.items():
        peak = run.peak(device)
        assert peak["peak_bytes"] == peak_bytes == sum(group["bytes"] for group in peak["live"])
    assert len(run.events()) == run.info["events"] - run.info.get("host_events", 0)


def test_answers_are_those_of_the_command_line(ask: Any) -> None:
    run = vramscope.open(TWO_DEVICES)
    assert [run.info, *run.devices] == ask("info", TWO_DEVICES)
    for device in run.peaks:
        assert [run.peak(device)] == ask("peak", TWO_DEVICES, "--device", device)
    assert run.peak() == run.peak(run.devices[0]["device"])
    grouped = ["--group-by", "module", "--depth", 2, "--limit", 1]
    assert run.ask("peak", group_by="module", depth=2, limit=1) == ask("peak", TWO_DEVICES, *grouped)
    assert [run.at(3, 0, frames=0)] == ask("at", 3, TWO_DEVICES, "--device", 0, "--frames", 0)
    assert [run.explain(0)] == ask("explain", TWO_DEVICES, "--device", 0)
    assert run.findings(0) == run.explain(0)["findings"]
    assert run.brief() == json.loads(program("brief", TWO_DEVICES, "--json").stdout)
    assert run.brief(1, budget=1024) == run.ask("brief", device=1, budget=1024)[0] != run.brief(1)


def assert_typed(value: Any, kind: Any) -> None:
    """Compares the keys of an answer with its type's."""
    assert kind.__required_keys__ <= set(value) <= kind.__required_keys__ | kind.__optional_keys__, kind


@pytest.mark.parametrize("path", snapshots()[::3], ids=lambda path: f"{path.parent.name}/{path.name}")
@pytest.mark.filterwarnings("ignore::vramscope.DamageWarning")
def test_answers_have_the_keys_of_their_types(path: Path) -> None:
    run = vramscope.open(path)
    if not run.devices:
        with pytest.raises(vramscope.SnapshotError, match="nothing to report"):
            run.peak()
        return
    peak, explanation = run.peak(), run.explain()
    assert_typed(peak, answers.Peak)
    assert_typed(explanation, answers.Explanation)
    tables = [(peak["live"], answers.Group), (explanation["findings"], answers.Finding)]
    tables += [(explanation["phases"], answers.Phase)]
    for moment in ("start", "peak", "end"):
        at = run.at(moment)
        assert_typed(at, answers.At)
        tables += [(at["live"], answers.Group), (at.get("stack", []), answers.Frame)]
        tables += [(at["around"], answers.Around), (at.get("segments", []), answers.SegmentGroup)]
    for difference in run.diff(at="start", to="end"):
        assert_typed(difference, answers.Diff)
        tables += [(difference["changes"], answers.Change), (difference["figures"], answers.Figure)]
        tables += [(difference["settings"], answers.SettingChange)]
    for rows, kind in tables:
        for row in rows:
            assert_typed(row, kind)


@pytest.mark.parametrize(
    ("command", "arguments", "options", "words"),
    [
        ("range", ["3..20"], {}, []),
        ("leaks", [], {"group_by": "function"}, ["--group-by", "function"]),
        ("oom", [], {}, []),
        ("fragmentation", [], {}, []),
        ("what-if", [], {"set": ["expandable_segments=True"]}, ["--set", "expandable_segments=True"]),
        ("what-if", [], {"capacity": "rtx4090"}, ["--capacity", "rtx4090"]),
        ("top", [], {"by": "total"}, ["--by", "total"]),
        ("annotations", [], {}, []),
        ("find", ["size>1MiB live@peak"], {"stack": True, "limit": 3}, ["--stack", "--limit", "3"]),
        ("stats", [], {}, []),
    ],
)
def test_all_questions_can_be_asked(ask: Any, command: str, arguments: Any, options: Any, words: Any) -> None:
    for path in (TRAINING, OOM):
        run = vramscope.open(path)
        assert run.ask(command, *arguments, **options) == ask(command, *arguments, path, *words)


def test_differences(ask: Any) -> None:
    before, after = vramscope.open(TRAINING), vramscope.open(TWO_DEVICES)
    assert before.diff(after) == ask("diff", TRAINING, TWO_DEVICES)
    moments = ["--at", "start", "--to", "end"]
    assert before.diff(at="start", to="end", group_by="file") == ask(
        "diff", TRAINING, *moments, "--group-by", "file"
    )
    with pytest.raises(vramscope.SnapshotError, match="name a second file, or two moments"):
        before.diff()


def test_bytes_dicts_and_files_are_the_same() -> None:
    data = TRAINING.read_bytes()
    expected = vramscope.open(TRAINING).ask("peak")
    with TRAINING.open("rb") as file:
        for source in (data, bytearray(data), memoryview(data), file, pickle.loads(data)):
            run = vramscope.open(source, name=str(TRAINING))
            assert run.name == str(TRAINING)
            assert run.ask("peak") == expected
    assert vramscope.open(data).name == "snapshot"
    assert vramscope.open(TRAINING, name="mine").peak()["file"] == "mine"


@pytest.mark.parametrize("path", sorted((FIXTURES / "refused").iterdir()), ids=lambda path: path.name)
def test_refusals_have_the_words_of_the_command_line(path: Path) -> None:
    ran = program("info", path)
    assert ran.returncode == 1
    with pytest.raises(vramscope.SnapshotError) as refusal:
        vramscope.open(path)
    assert f"error: {refusal.value}\n" == ran.stderr.decode()
    assert isinstance(refusal.value, ValueError)


def test_missing_files_are_what_python_calls_them(tmp_path: Path) -> None:
    missing = tmp_path / "missing.pickle"
    with pytest.raises(FileNotFoundError) as refusal:
        vramscope.open(missing)
    assert f"error: {refusal.value.strerror}\n" == program("info", missing).stderr.decode()
    with pytest.raises(IsADirectoryError, match="This is a folder; name a file in it"):
        vramscope.open(tmp_path)
    with pytest.raises(TypeError, match="a path, bytes"):
        vramscope.open(3)  # type: ignore[arg-type]


def test_damage_is_a_warning(tmp_path: Path) -> None:
    data = TRAINING.read_bytes()
    damaged = tmp_path / "damaged.pickle"
    damaged.write_bytes(data + b"more")
    with pytest.warns(vramscope.DamageWarning) as caught:
        run = vramscope.open(damaged)
    lines = [f"warning: {warning.message}\n" for warning in caught]
    assert "".join(lines) == program("info", damaged).stderr.decode()
    assert run.peak()["damage"] and run.damage
    assert caught[0].filename == __file__


def test_wrong_questions() -> None:
    run = vramscope.open(TRAINING)
    with pytest.raises(vramscope.SnapshotError, match="invalid value 'colour' for '--group-by <WHAT>'") as refusal:
        run.peak(group_by="colour")  # type: ignore[arg-type]
    assert "possible values: call-site" in str(refusal.value) and "Usage" not in str(refusal.value)
    with pytest.raises(vramscope.SnapshotError, match="there is no device 7 in this file; it has 0"):
        run.peak(7)
    with pytest.raises(vramscope.SnapshotError, match="there is no device 7 in this file; it has 0"):
        run.events(7)
    with pytest.raises(vramscope.SnapshotError, match="there is no table people; there are events"):
        run.table("people")
    with pytest.raises(vramscope.SnapshotError):
        run.at("no such moment")
    with pytest.raises(vramscope.SnapshotError, match="convert does not work on an open snapshot; these do: brief, info"):
        run.ask("convert", output="x.csv")
    with pytest.raises(vramscope.SnapshotError, match="html does not work on an open snapshot"):
        run.ask("html")
    with pytest.raises(vramscope.SnapshotError, match="peak of a snapshot that is open takes no 'oom'"):
        run.ask("peak", "oom")
    with pytest.raises(TypeError, match="a moment is a name or a number of events, not None"):
        run.at(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a snapshot that vramscope.open\\(\\) gave, not 'after.pickle'"):
        run.diff("after.pickle")  # type: ignore[arg-type]
    with pytest.raises(vramscope.SnapshotError, match="cannot be used with '--json'"):
        run.ask("stats", format="torch")
    with pytest.raises(vramscope.SnapshotError, match="--export-csv is for the command line"):
        run.ask("plan", export_csv="x.csv")


@pytest.mark.parametrize("number", ["0", 0.0, True])
def test_what_is_no_number_is_a_wrong_type(number: Any) -> None:
    run = vramscope.open(TRAINING)
    asked = [run.peak, run.events, run.brief, run.explain, lambda device: run.diff(to="end", device=device)]
    asked += [lambda device: run.to_html(device=device), lambda depth: run.peak(depth=depth)]
    asked += [lambda limit: run.at("peak", limit=limit), lambda frames: run.at("peak", frames=frames)]
    for ask in asked:
        with pytest.raises(TypeError, match=f" is a whole number from 0, not {number!r}"):
            ask(number)
    if isinstance(number, str):
        return
    for moment in (run.at, lambda moment: run.diff(to=moment), lambda moment: run.ask("at", moment)):
        with pytest.raises(TypeError, match=f"a moment is a name or a number of events, not {number!r}"):
            moment(number)


@pytest.mark.parametrize("number", [-1, 7, 1 << 40])
def test_all_questions_refuse_a_device_that_is_not_there(number: int) -> None:
    run = vramscope.open(TRAINING)
    for ask in (run.peak, run.brief, run.explain, run.events, run.blocks):
        with pytest.raises(vramscope.SnapshotError, match=str(number)):
            ask(number)
    with pytest.raises(vramscope.SnapshotError, match="a number of events, not -1"):
        run.at(-1)


def test_numbers_may_be_numpy_s() -> None:
    numpy = pytest.importorskip("numpy")
    run = vramscope.open(TRAINING)
    assert run.peak(numpy.int64(0), depth=numpy.int8(2)) == run.peak(0, depth=2)
    assert run.at(numpy.uint32(3)) == run.at(3) and len(run.events(numpy.int64(0))) == len(run.events(0))


def test_limit_0_is_all() -> None:
    run = vramscope.open(TRAINING)
    assert run.peak(limit=0) == run.peak() != run.peak(limit=1)


def test_threads_share_a_snapshot() -> None:
    run = vramscope.open(TRAINING)
    expected, got = run.explain(), []
    threads = [threading.Thread(target=lambda: got.append(run.explain())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [expected] * 4
