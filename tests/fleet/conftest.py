"""The program and the dataset that all tests ask.

`VRAMSCOPE_BIN` is the program, built with the feature `sql`; `cargo xtask fleet` sets it.
"""

import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
FIXTURES = HERE.parent / "fixtures"

# Eight ranks of one job, as it were: most did the same, one ran out of memory, one did something else.
RANKS = ["torch-2.15.0/training.pickle"] * 6 + [
    "torch-2.15.0/oom_observer.pickle",
    "torch-2.15.0/named_ranges.pickle",
]


@pytest.fixture(scope="session")
def program():
    return os.environ["VRAMSCOPE_BIN"]


@pytest.fixture(scope="session")
def dataset(program, tmp_path_factory):
    """Tables in the layout of a dataset: a folder for each table, in which every rank has one."""
    folder = tmp_path_factory.mktemp("dataset") / "runs"
    for rank, file in enumerate(RANKS):
        tables = tmp_path_factory.mktemp("tables")
        command = [program, "convert", FIXTURES / file, "--to", "parquet", "-o", tables]
        subprocess.run(command, check=True)
        for table in tables.glob("*.parquet"):
            place = folder / table.stem / f"rank={rank}"
            place.mkdir(parents=True)
            shutil.move(table, place / "part.parquet")
    return folder


@pytest.fixture(scope="session")
def questions():
    """The SQL of each ready question, by its name."""
    return {file.stem: file.read_text() for file in sorted((HERE / "questions").glob("*.sql"))}
