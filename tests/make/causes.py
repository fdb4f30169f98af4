"""Adds recordings with a known cause to `tests/fixtures/causes`.

    causes.py FOLDER NAME

FOLDER has the programs, a snapshot of each beside it, and `causes.csv` with what was wrong, written by somebody who has
read neither the rules nor the program's documentation, and proved by changing the programs. NAME names the set. Each set
was judged once before any rule was written with knowledge of it: of the third 17 of 23 were right and 4 wrong, of the
fourth 20 of 23 and 3, of the fifth 18 of 22 and 2, of the sixth 17 of 22 and 3, of the seventh 20 of 22 and 1. A new claim
needs a new set.
"""

import csv
import os
import pickle
import shutil
import sys

import zstandard

import tidy

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(HERE, "..", "fixtures", "causes")
PROGRAMS = os.path.join(HERE, "causes")
# A larger snapshot shows nothing that a smaller one does not. (700,000 for the first four sets, 250,000 for the next two.)
MOST_BYTES = 175_000
# The examiners' tools for measuring and writing the truth.
NO_PROGRAMS = ["__pycache__", "lib", "out", "fixed", "measure.py", "verify.py", "wrap.py", "write_truth.py", "causes.py", "causes_example.py", "old_causes.py"]


def main(folder, name):
    folder = os.path.abspath(folder)
    target = FIXTURES
    os.makedirs(target, exist_ok=True)
    with open(os.path.join(folder, "causes.csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    kept = []
    for row in rows:
        with open(os.path.join(folder, row["name"] + ".pickle"), "rb") as file:
            snapshot = tidy.hide_places(pickle.load(file), folder)
        data = tidy.check_clean(pickle.dumps(snapshot, protocol=4), row["name"])
        packed = zstandard.compress(data, 15)
        if len(packed) > MOST_BYTES:
            print(f"{row['name']}: left out, {len(packed)} bytes")
            continue
        with open(os.path.join(target, row["name"] + ".pickle.zst"), "wb") as file:
            file.write(packed)
        kept.append(row)
    table = os.path.join(target, "causes.csv")
    is_new = not os.path.exists(table)
    with open(table, "a", newline="") as file:
        writer = csv.DictWriter(file, ["set", *rows[0].keys()], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows({"set": name, **row} for row in kept)
    programs = os.path.join(PROGRAMS, name)
    shutil.rmtree(programs, ignore_errors=True)
    shutil.copytree(folder, programs, ignore=lambda of, names: [name for name in names if is_left(of, name)])


def is_left(folder, name):
    """Whether a file or folder is no part of the programs."""
    path = os.path.join(folder, name)
    is_program = name.endswith(".py") or os.path.isdir(path)
    return not is_program or name in NO_PROGRAMS


if __name__ == "__main__":
    main(*sys.argv[1:])
