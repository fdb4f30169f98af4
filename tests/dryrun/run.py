"""Dry-runs programs whose snapshots strangers recorded on their cards, and compares.

    python run.py VRAMSCOPE [NAME...]

runs.json has the facts of their files: peak of active memory and most reserved memory in bytes, the number of events, and a
digest of each event's action and size in their order (sorted where `unordered` says why the order is undefined). Files with
a copy in VRAMSCOPE_SHARED/real are read again. Each program runs with the torch of its recording, in an environment beside
the one that runs this, named by its version, and must come out equal; the documentation must have the table that --table
prints.
"""

import hashlib
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PAGE = HERE.parent.parent / "docs/DRYRUN.md"
ENVIRONMENTS = pathlib.Path(sys.prefix).parent
PATIENCE_S = 600


class Plain(pickle.Unpickler):
    """Strangers' files: nothing but plain values is made."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name}")


def facts(vramscope, path, in_order=True):
    answer = subprocess.run([vramscope, "info", "--json", path], capture_output=True, check=True)
    device = json.loads(answer.stdout)["parts"][1]
    with open(path, "rb") as file:
        events = max(Plain(file).load()["device_traces"], key=len)
    digest = hashlib.sha256()
    lines = [f"{event['action']} {event['size']}\n" for event in events]
    for line in lines if in_order else sorted(lines):
        digest.update(line.encode())
    return {
        "active": device["peak_bytes"],
        "reserved": device["reserved_max_bytes"],
        "events": len(events),
        "digest": digest.hexdigest()[:16],
    }


def blob(path):
    """git's hash of a file's content."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def read_again(vramscope, runs):
    """The facts of the files available here."""
    folder = pathlib.Path(os.environ.get("VRAMSCOPE_SHARED", "")) / "real"
    here = {blob(path): path for path in folder.glob("*.pickle")} if "VRAMSCOPE_SHARED" in os.environ else {}
    files = [file for run in runs for file in run["files"].values() if file["blob"] in here]
    for file in files:
        assert facts(vramscope, here[file["blob"]], "unordered" not in file) == file["recorded"], here[file["blob"]]
    print(f"{len(files)} of the recordings are here; what is known of them is in them", flush=True)


def dry_run(vramscope, run, folder):
    python = ENVIRONMENTS / run["torch"] / "bin/python"
    command = [vramscope, "dry-run", "--gpu", run["card"], "--", python, HERE / "programs.py"]
    name, *options = run["program"]
    own = {"PYTORCH_CUDA_ALLOC_CONF": run.get("settings", ""), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        list(map(str, [*command, name, folder, *options])),
        env={**os.environ, **own},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def compare(vramscope, run):
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        dry_run(vramscope, run, folder)
        for name, file in run["files"].items():
            predicted = facts(vramscope, f"{folder}/{name}.pickle", "unordered" not in file)
            expected = {**file["recorded"], **file.get("predicted", {})}
            if predicted != expected:
                differing += 1
                print(f"{run['repository']} {file['path']}:\n  recorded  {file['recorded']}\n  dry run   {predicted}")
    print(f"{' '.join(run['program'])}, torch {run['torch']}: {len(run['files']) - differing} of {len(run['files'])} as expected", flush=True)
    return differing


def share(predicted, recorded):
    return "equal" if predicted == recorded else f"{predicted:,} ({(predicted / recorded - 1) * 100:+.2f} %)"


def row(run, file):
    recorded = file["recorded"]
    predicted = {**recorded, **file.get("predicted", {})}
    cells = [f"{run['repository']} `{file['path'].rsplit('/')[-1]}`", run["torch"], run["card"]]
    for what in ("active", "reserved"):
        cells += [f"{recorded[what]:,}", share(predicted[what], recorded[what])]
    events = share(predicted["events"], recorded["events"]) + (" but for their order" if "unordered" in file else "")
    count = f"{recorded['events']:,}"
    remarks = [file[name] for name in ("why", "unordered") if name in file]
    return f"| {' | '.join([*cells, count, ': '.join([events, *remarks])])} |"


def table(runs):
    """Misses first, then those that differ in order."""
    files = [(run, file) for run in runs for file in run["files"].values()]
    files.sort(key=lambda it: ("predicted" not in it[1], "unordered" not in it[1]))
    head = "| file | torch | `--gpu` | recorded: peak active, B | dry run | recorded: most reserved, B | dry run | recorded: events | dry run |"
    return "\n".join([head, "|" + " --- |" * 9, *(row(*it) for it in files)])


def main():
    runs = json.loads((HERE / "runs.json").read_text(encoding="utf-8"))
    if sys.argv[1] == "--table":
        print(table(runs))
        return
    vramscope, *names = sys.argv[1:]
    vramscope = os.path.abspath(vramscope)
    assert table(runs) in PAGE.read_text(encoding="utf-8"), f"{PAGE.name} has not what `run.py --table` prints"
    read_again(vramscope, runs)
    chosen = [run for run in runs if not names or run["program"][0] in names]
    differing = sum(compare(vramscope, run) for run in chosen)
    assert not differing, f"{differing} files came out differently"


if __name__ == "__main__":
    main()
