"""Puts torch's own reader of snapshots, `torch/cuda/_memory_viz.py`, into the given folder.

It only needs Python to run. It is extracted from torch's smallest wheel, the one for macOS: the file is the same
in all of them.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

TORCH = "torch==2.11.0"
FILE = "torch/cuda/_memory_viz.py"

target = Path(sys.argv[1])
with tempfile.TemporaryDirectory(dir=target) as folder:
    download = ["-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, "--only-binary=:all:"]
    wheel = ["--platform", "macosx_11_0_arm64", "--python-version", "3.12", TORCH]
    subprocess.run([sys.executable, *download, *wheel], check=True)
    (path,) = Path(folder).glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        (target / "_memory_viz.py").write_bytes(archive.read(FILE))
