"""All answers about all fixtures of one torch, and all tables, as text: for a comparison of two builds of the package."""

import json
from pathlib import Path

import pyarrow
import vramscope

TABLES = ("events", "allocations", "frames", "stacks", "annotations", "segments", "blocks")

for file in sorted((Path(__file__).parent.parent / "fixtures" / "torch-2.15.0").glob("*.pickle")):
    try:
        run = vramscope.open(file.read_bytes(), name=file.name)
    except vramscope.SnapshotError as refusal:
        print(file.name, refusal)
        continue
    print(file.name, json.dumps([run.info, run.damage]))
    for device in run.peaks:
        answers = [run.peak(device=device), run.at("end", device=device), run.explain(device), run.findings(device)]
        print(json.dumps([*answers, run.brief(device), run.ask("plan", device=device), run.diff(at="start", to="peak", device=device)]))
    for name in TABLES:
        table = pyarrow.table(run.table(name))
        print(name, table.schema, table.to_pylist())
