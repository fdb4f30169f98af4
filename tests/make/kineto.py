"""Writes traces and memory timelines of torch.profiler.

    SCRIPT=kineto.py PYTHON=venv/bin/python sh tests/make/standin.sh FOLDER [cpu]

over the stand-in for CUDA, of a GPU and the host, or of the host alone. Writes to FOLDER (tests/fixtures/profiler), with the version of torch in the names:

    training-<version>-<device>.json.gz     two steps of a small model: stacks, shapes, ProfilerStep#N, named ranges
    plain-<version>-<device>.json.gz        the same without stacks and shapes, from the second step on, a failed request at its end
    timeline-<version>-<device>.raw.json.gz, .json.gz     export_memory_timeline of three steps, in both forms
"""

import gzip
import json
import pathlib
import re
import sys
import tempfile

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

import tidy

HERE = pathlib.Path(__file__).resolve().parent
VERSION = torch.__version__.split("+")[0]
DEVICE = "cuda" if torch.cuda.is_available() and "cpu" not in sys.argv[2:] else "cpu"


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


class Trainer:
    def __init__(self):
        self.model = torch.nn.Sequential(torch.nn.Linear(32, 64), Block(64), Block(64), torch.nn.Linear(64, 8)).to(DEVICE)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3, foreach=False)
        self.kept = []

    def step(self):
        with record_function("data"):
            batch = torch.randn(128, 32).to(DEVICE)
        with record_function("forward"):
            loss = self.model(batch).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.kept.append(torch.ones(3000, device=DEVICE))


def options(**more):
    # Kernels need CUPTI, which nothing stands in for; memory is an event of the CPU.
    return {"activities": [ProfilerActivity.CPU], "profile_memory": True, **more}


def written(name, trace):
    """Hides this machine in the text of a file, and compresses it."""
    text = tidy.hide_text(trace, str(HERE))
    text = re.sub(r'"(host_name|traceName)": "[^"]*"', r'"\1": "user"', text)
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "fixtures" / "profiler"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.gz"
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{path.name}: {path.stat().st_size} bytes of {len(text)}")


def exported(profiler):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return path.read_text()


def training():
    traces = []
    trainer = Trainer()
    steps = schedule(wait=0, warmup=1, active=2, repeat=1)
    with profile(
        **options(with_stack=True, record_shapes=True), schedule=steps, on_trace_ready=lambda done: traces.append(exported(done))
    ) as profiler:
        for _ in range(3):
            trainer.step()
            profiler.step()
    written(f"training-{VERSION}-{DEVICE}.json", traces[0])


def plain():
    trainer = Trainer()
    trainer.step()
    with profile(**options()) as profiler:
        trainer.step()
        trainer.kept.clear()
        try:
            trainer.kept.append(torch.empty(1 << 50, dtype=torch.uint8, device=DEVICE))
        except RuntimeError:
            pass
    written(f"plain-{VERSION}-{DEVICE}.json", exported(profiler))


def timeline():
    trainer = Trainer()
    with profile(**options(with_stack=True, record_shapes=True)) as profiler:
        for _ in range(3):
            trainer.step()
    with tempfile.TemporaryDirectory() as folder:
        for form in ["raw.json", "json"]:
            path = pathlib.Path(folder) / f"timeline.{form}"
            device = "cuda:0" if DEVICE == "cuda" else "cpu"
            profiler.export_memory_timeline(str(path) + ".gz", device=device)
            text = gzip.decompress(pathlib.Path(str(path) + ".gz").read_bytes()).decode()
            json.loads(text)
            written(f"timeline-{VERSION}-{DEVICE}.{form}", text)


if __name__ == "__main__":
    training()
    plain()
    try:
        timeline()
    except (AttributeError, AssertionError, TypeError) as error:
        print("no timeline:", error)
