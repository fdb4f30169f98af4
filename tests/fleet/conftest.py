"""The programs, and the dataset that all tests ask.

`VRAMSCOPE_BIN` is the program, built with the feature `sql`, and `VRAMSCOPE_SYNTH` generates snapshots; `cargo xtask fleet`
sets both.
"""

import json
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="session")
def program():
    return os.environ["VRAMSCOPE_BIN"]


def story(rank):
    """The events on a rank: steps that leave something behind. Rank 3 also holds more, rank 5 leaves more behind,
    ranks 2 and 6 run out of memory, and rank 7 has no known steps."""
    cache = 700 if rank == 3 else 100
    left = 40 if rank == 5 else 2
    yield f"time {1_760_000_000_000_000 + 1000 * rank}"
    yield "device 0"
    yield "alloc weights 400MiB train.py:10:main > model.py:20:init"
    yield f"alloc cache {cache}MiB train.py:12:main > cache.py:5:reserve"
    for step in range(6):
        if rank != 7:
            yield f"begin 'train_step {step}'"
        yield f"alloc x{step} 300MiB train.py:30:step > model.py:40:forward"
        yield f"alloc log{step} {left}MiB train.py:31:step > log.py:9:append"
        yield f"free x{step}"
        if rank != 7:
            yield f"end 'train_step {step}'"
    if rank in (2, 6):
        yield "oom 8GiB free=100MiB train.py:30:step > model.py:44:forward"


@pytest.fixture(scope="session")
def snapshots(tmp_path_factory):
    """The ranks of a job."""
    folder = tmp_path_factory.mktemp("job") / "snapshots"
    folder.mkdir()
    for rank in range(8):
        text = folder / f"rank{rank}.txt"
        text.write_text("\n".join(story(rank)))
        command = [os.environ["VRAMSCOPE_SYNTH"], "text", text, "--producer", "2.12"]
        subprocess.run([*command, "--output", text.with_suffix(".pickle")], check=True)
    return folder


@pytest.fixture(scope="session")
def dataset(program, snapshots):
    folder = snapshots.parent / "runs.vset"
    subprocess.run([program, "fleet", "pack", snapshots, "-o", folder], check=True)
    return folder


@pytest.fixture(scope="session")
def questions():
    """The SQL of each ready question, by its name."""
    return {file.stem: file.read_text() for file in sorted((HERE / "questions").glob("*.sql"))}


@pytest.fixture(scope="session")
def fleet(program, dataset):
    """What `vramscope fleet` answers to a ready question: its rows, as dictionaries."""

    def ask(question):
        table = {"peaks": "ranks", "odd": "odd", "diff": "differences", "leaks": "sites", "oom": "ranks", "sites": "sites"}
        further = ["--rank", "3", "--against", "0"] if question == "diff" else []
        command = [program, "fleet", question, dataset, "--json", *further]
        part = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["parts"][0]
        return part[table[question]]

    return ask
