"""Why memory ran out, from a text."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import vramscope

ERROR = (
    "CUDA out of memory. Tried to allocate 2.26 GiB (GPU 0; 6.00 GiB total capacity; 781.59 MiB already allocated; "
    "3.03 GiB free; 1.24 GiB reserved in total by PyTorch)"
)


def test_a_text_is_explained() -> None:
    whole, failure = vramscope.explain_text(ERROR)
    assert whole["failures"] == 1
    assert failure["class"] == "limit"
    assert failure["requested_bytes"] == round(2.26 * 2**30)
    assert vramscope.explain_text(ERROR.encode())[1] == failure


def test_a_file_is_read_compressed_or_not(tmp_path: Path) -> None:
    plain, packed = tmp_path / "train.log", tmp_path / "train.log.gz"
    log = "step 1\n" * 1000 + ERROR + "\n"
    plain.write_text(log)
    packed.write_bytes(gzip.compress(log.encode()))
    answers = [vramscope.explain_text(path) for path in (plain, packed)]
    assert answers[0][1]["line"] == answers[1][1]["line"] == 1001
    with pytest.raises(FileNotFoundError):
        vramscope.explain_text(tmp_path / "none.log")


def test_a_text_without_an_error_has_one_part() -> None:
    (whole,) = vramscope.explain_text("all is well")
    assert whole["failures"] == 0
