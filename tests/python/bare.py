"""The package in an otherwise empty environment: what works without any other package."""

import importlib.metadata
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import vramscope

FIXTURE = Path(__file__).parent.parent / "fixtures" / "torch-2.15.0" / "training.pickle"

packages = {distribution.metadata["Name"] for distribution in importlib.metadata.distributions()}
assert packages <= {"vramscope", "pip", "setuptools"}, packages
assert not {"torch", "pyarrow", "IPython"} & set(sys.modules)

run = vramscope.open(FIXTURE)
peak = run.peak(group_by="function")
assert peak["peak_bytes"] == run.peaks[0] == sum(group["bytes"] for group in peak["live"])
assert run.findings() and run.diff(at="start", to="end")[0]["changes"]
assert len(run.allocations()) > 0 and run.allocations().__arrow_c_stream__()
assert run.show()._repr_html_().startswith("<iframe")
with tempfile.TemporaryDirectory() as folder:
    page = Path(folder, "page.html")
    run.to_html(page)
    assert vramscope.open(page).peaks == run.peaks

command = Path(sys.executable).with_name("vramscope")
assert subprocess.run([command, "info", FIXTURE], capture_output=True).returncode == 0
assert subprocess.run([sys.executable, "-m", "vramscope", "--version"], capture_output=True).returncode == 0

with warnings.catch_warnings():
    warnings.simplefilter("error")
    assert vramscope.record("run_{step}.pickle", every=3).step() == 1
print("vramscope alone does what it can do without other packages")
