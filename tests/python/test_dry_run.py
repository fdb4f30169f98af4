"""Whether a program would fit: with a torch that is only a name, and with a real one if available."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import vramscope

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs are run on Linux alone")


@pytest.fixture
def without_cuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of modules, among them a torch that says it was built without CUDA."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    (tmp_path / "torch" / "version.py").write_text("__version__ = '2.7.1+cpu'\ncuda = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_command_that_cannot_be_run_says_why(without_cuda: Path) -> None:
    program = without_cuda / "train.py"
    program.write_text("import torch")
    with pytest.raises(vramscope.SnapshotError, match=r"built without CUDA.* torch==2\.7\.1 "):
        vramscope.dry_run([sys.executable, program], gpu="t4")


def test_a_function_is_called_in_a_process_of_its_own(without_cuda: Path) -> None:
    module = without_cuda / "mine.py"
    module.write_text("def train():\n    open(__file__ + '.called', 'w')\n    import torch\n")
    import mine  # type: ignore[import-not-found]

    with pytest.raises(vramscope.SnapshotError, match="built without CUDA"):
        vramscope.dry_run(mine.train)
    assert (without_cuda / "mine.py.called").exists()


def test_functions_that_another_process_cannot_find() -> None:
    with pytest.raises(ValueError, match="name a command instead"):
        vramscope.dry_run(lambda: None)


@pytest.mark.parametrize(("gpu", "fits"), [("h100", True), ("1GiB", False)])
def test_real_torch(gpu: str, fits: bool, tmp_path: Path) -> None:
    python = os.environ.get("VRAMSCOPE_TORCH_PYTHON")
    if python is None:
        pytest.skip("VRAMSCOPE_TORCH_PYTHON names no Python with torch's build for CUDA")
    program = "import torch; torch.empty(2**30, dtype=torch.uint8, device='cuda')"
    answer = vramscope.dry_run([python, "-c", program], gpu=gpu, output=tmp_path / "dry.pickle")
    assert answer["fits"] is fits
    assert bool(answer["failed_requests"]) is not fits
    assert vramscope.open(tmp_path / "dry.pickle").info["events"] > 0
