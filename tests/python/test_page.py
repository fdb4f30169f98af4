"""The page in one file, and in a notebook."""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
import vramscope
from conftest import FIXTURES, program

TRAINING = FIXTURES / "torch-2.15.0" / "training.pickle"
_NONCE = re.compile(r'nonce(="|-)[^"\']+')


def run() -> vramscope.Snapshot:
    """A snapshot, unless this vramscope has no page."""
    run = vramscope.open(TRAINING)
    try:
        run.to_html()
    except vramscope.SnapshotError as refusal:
        assert "was built without the page" in str(refusal)
        pytest.skip("this vramscope was built without the page")
    return run


def without_nonce(page: str) -> str:
    """The page without the parts that differ each time."""
    return _NONCE.sub("", page)


def test_the_file_is_that_of_the_command_line(tmp_path: Path) -> None:
    options = ["--view", "timeline", "--at", "peak", "--range", "10..50", "--device", "0"]
    written = program("html", TRAINING, "-o", tmp_path / "expected.html", *options)
    assert written.returncode == 0, written.stderr
    page = run().to_html(tmp_path / "got.html", view="timeline", at="peak", range="10..50", device=0)
    assert page == (tmp_path / "got.html").read_text()
    assert without_nonce(page) == without_nonce((tmp_path / "expected.html").read_text())
    assert sorted(file.name for file in tmp_path.iterdir()) == ["expected.html", "got.html"]
    # vramscope reads the data from it again.
    assert vramscope.open(tmp_path / "got.html").peak()["live"] == run().peak()["live"]


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    for path in [tmp_path / "folder.html", tmp_path / "none" / "page.html"]:
        with pytest.raises(OSError) as refusal:
            run().to_html(path)
        # It names the file as the program does, not the one that was beside it meanwhile.
        assert str(refusal.value).endswith(f": {str(path)!r}"), refusal.value
    assert [file.name for file in tmp_path.iterdir()] == ["folder.html"]


@pytest.mark.parametrize("height", ["400px", None, 400.5, True])
def test_a_height_that_is_no_number_is_refused_before_a_cell_shows_it(height: Any) -> None:
    with pytest.raises(TypeError, match=f"a number of CSS pixels from 1, not {height!r}"):
        run().show(height=height)


def test_a_frame_has_some_height() -> None:
    with pytest.raises(ValueError, match="a number of CSS pixels from 1, not -5"):
        run().show(height=-5)


def test_a_view_is_a_frame_with_the_page_as_its_document() -> None:
    view = run().show(height=400, view="flame", widget=False)
    frame = view._repr_html_()
    assert frame.startswith("<iframe") and "height: 400px" in frame
    document = re.search(r'srcdoc="([^"]*)"', frame)
    assert document
    # It leaves the wheel to the notebook, and has no button that such a frame cannot obey.
    said = html.unescape(document[1]).replace(' data-search="?mode=embed"', "", 1)
    assert re.sub(r"<style>\.in-full [^<]*</style>", "", said) == view.html != said
    assert "training.pickle" in repr(view)
    json.dumps(frame)


def test_a_snapshot_is_a_picture_in_a_notebook() -> None:
    snapshot = vramscope.open(TRAINING.read_bytes(), name='"><script>alert(1)</script>')
    shown = snapshot._repr_html_()
    picture = re.search(r'<img [^>]* src="data:image/svg\+xml;base64,([^"]*)">', shown)
    assert picture and base64.b64decode(picture[1]).startswith(b"<svg")
    assert html.escape(snapshot.devices[0]["verdict"]) in shown
    assert "<script" not in shown and len(shown) < 60_000
    nothing = vramscope.open(b'{"segments": [], "device_traces": []}')
    assert nothing._repr_html_() == html.escape(repr(nothing))


def test_names_stay_in_their_attribute() -> None:
    data = TRAINING.read_bytes()
    run()
    view = vramscope.open(data, name='"><script>alert(1)</script>').show(widget=False)
    assert "<script>alert(1)" not in view._repr_html_() and "<script>alert(1)" not in view.html
