"""The book's Python blocks run with the documented results: a comment that begins with an arrow is the value of its line.

Blocks marked ``python`` are run in order, those of a chapter in one namespace, beside the samples. Those marked
``python,norun`` need a GPU, torch or another program, and only have to be Python.
"""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest
from conftest import FIXTURES

CHAPTERS = FIXTURES.parent.parent / "book" / "src"
SAMPLES = FIXTURES / "roles" / "rules"
_BLOCK = re.compile(r"^```(python|python,norun)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(chapter: Path) -> List[Tuple[str, str]]:
    """The mark of each block of a chapter, and the block, after as many empty lines as there are lines above it."""
    text = chapter.read_text(encoding="utf-8")
    return [(found[1], "\n" * text.count("\n", 0, found.start(2)) + found[2]) for found in _BLOCK.finditer(text)]


def run(code: str, name: str, names: Dict[str, Any]) -> None:
    """Runs a block statement by statement, and compares the documented values."""
    lines = code.splitlines()
    for statement in ast.parse(code, name).body:
        told = lines[(statement.end_lineno or 1) - 1].partition("# → ")[2]
        if not told:
            exec(compile(ast.Module([statement], []), name, "exec"), names)
            continue
        assert isinstance(statement, ast.Expr), f"{name}:{statement.lineno} has no value"
        value = eval(compile(ast.Expression(statement.value), name, "eval"), names)
        assert repr(value) == told, f"{name}:{statement.lineno}"


CHAPTERS_WITH_PYTHON = [chapter for chapter in sorted(CHAPTERS.glob("*.md")) if blocks(chapter)]


@pytest.mark.parametrize("chapter", CHAPTERS_WITH_PYTHON, ids=lambda chapter: chapter.name)
def test_blocks_give_what_the_book_says(chapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for sample in SAMPLES.glob("*.pickle.zst"):
        shutil.copy(sample, tmp_path)
    monkeypatch.chdir(tmp_path)
    names: Dict[str, Any] = {"__name__": "book"}
    for mark, code in blocks(chapter):
        if mark == "python":
            run(code, chapter.name, names)
        else:
            compile(code, chapter.name, "exec")


def test_the_book_has_blocks_to_run() -> None:
    marks = [mark for chapter in CHAPTERS_WITH_PYTHON for mark, _ in blocks(chapter)]
    assert marks.count("python") >= 4
