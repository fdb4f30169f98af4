"""Makes fixtures of the results of `run.py`: `fixtures.py OUT tests/fixtures [--hide FOLDER]`.

`captured`: the raw log of each program, `NAME.raw.gz`, and in `NAME.json` the memory that the program, PyTorch or CUPTI
reported to have got from the driver. `crates/vramscope-record/tests/it/recorded.rs` compares the two.

`torch-2.11.0`: snapshots of PyTorch's own recorder, `NAME.pickle.gz`, and its counters at those moments in `captured/torch-2.11.0.json`.
`crates/vramscope-core/tests/it/recorded.rs` compares them.

In both, names from a folder to be hidden get other letters.
"""

import argparse
import gzip
import json
import pathlib
import re
import struct

from program_checks import of_cupti, printed

PROGRAMS = [
    "rt-static", "rt-per-thread", "rt-static-reset", "driver-dlsym", "linking", "loading", "torch-native", "torch-expandable", "torch-async-cupti",
    "torch-graph-native", "torch-graph-async", "torch-oom", "oom", "killed", "ranks", "nvtx", "cupy", "nccl",
]

SNAPSHOTS = ["compiled", "graphs", "oom", "expandable", "ranks-rank0", "ranks-rank1"]


def hidden(data, folders):
    for folder in folders:
        data = data.replace(folder.encode(), re.sub(rb"[^/]", b"x", folder.encode()))
    return data


def truth(out, name):
    """Information about a program besides its log."""
    told, log = out / f"{name}.json", out / f"{name}.log"
    known = {}
    if name.startswith("rt-"):
        known["allocations"] = printed({"output": log.read_text()})
    if told.exists():
        seen = json.loads(told.read_text())
        if "did" in seen:
            known |= {"allocations": seen["did"], "pools_reserved": seen["reserved"]}
        if seen.get("records"):
            known["seen_by_cupti"] = of_cupti(seen["records"])
        moments = seen.get("moments", [])
        if any(moment["segments"] for moment in moments):
            known["segments"] = [{"time_us": moment["time_us"], "held": moment["segments"]} for moment in moments]
        elif moments:
            known["reserved"] = [[moment["time_us"], moment["reserved"]] for moment in moments]
        if "free" in seen:
            known["failed"] = [4 << 40, seen["free"]]
    return known


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("to", type=pathlib.Path)
    parser.add_argument("--hide", action="append", default=[])
    arguments = parser.parse_args()
    captured, recorded = arguments.to / "captured", arguments.to / "torch-2.11.0"
    for folder in [captured, recorded]:
        folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        logs = sorted((arguments.out / f"{name}.raw").glob("**/*.raw"))
        for number, log in enumerate(logs):
            with open(log, "rb") as file:
                end = struct.unpack_from("<Q", file.read(4096), 32)[0]
                file.seek(0)
                data = hidden(file.read(end), arguments.hide)
            to = captured / (f"{name}-{number}" if len(logs) > 1 else name)
            to.with_suffix(".raw.gz").write_bytes(gzip.compress(data, 9, mtime=0))
            known = truth(arguments.out, name)
            if known:
                to.with_suffix(".json").write_text(json.dumps(known, separators=(",", ":")) + "\n")
    counters = {}
    for name in SNAPSHOTS:
        own = arguments.out / f"torch-own-{name}"
        data = hidden(own.with_suffix(".pickle").read_bytes(), arguments.hide)
        (recorded / f"{name}.pickle.gz").write_bytes(gzip.compress(data, 9, mtime=0))
        counters[name] = json.loads(own.with_suffix(".json").read_text())["peak"]
    (captured / "torch-2.11.0.json").write_text(json.dumps(counters, indent=1) + "\n")


main()
