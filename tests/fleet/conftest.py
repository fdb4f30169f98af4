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


@pytest.fixture(scope="session")
def snapshots(tmp_path_factory):
    """The ranks of a job, a few of them odd: one leaks, one is larger, one is fragmented, one runs out of memory."""
    folder = tmp_path_factory.mktemp("job") / "snapshots"
    command = [os.environ["VRAMSCOPE_SYNTH"], "fleet", folder, "--ranks", "12", "--events", "3000"]
    subprocess.run(command, check=True)
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
        further = ["--rank", "7", "--against", "0"] if question == "diff" else []
        command = [program, "fleet", question, dataset, "--json", *further]
        part = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["parts"][0]
        return part[table[question]]

    return ask
