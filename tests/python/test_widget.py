"""The viewer in a notebook that has widgets. `tests/hosts` looks at it in a browser."""

from __future__ import annotations

import base64
import gzip
import html
import re
import shutil
import subprocess
import sys
from typing import Any, List

import pytest
import vramscope
from test_page import TRAINING, run, without_nonce
from vramscope import _show

pytest.importorskip("anywidget")


@pytest.fixture(autouse=True)
def new(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a Python that has shown nothing yet."""
    from vramscope import _widget

    monkeypatch.setattr(_widget, "_page", None)


def page_with(viewer: Any, shared: str) -> str:
    """The page that `widget.js` builds from the shared one, as far as it equals that of `to_html`."""
    data = base64.b64encode(viewer._file).decode()
    file = f'<script type="application/octet-stream" data-file="{viewer._file_name}">{data}</script>'
    page = shared.replace("<html", f'<html data-place="{viewer.place}"', 1)
    return page.replace("</body", file + "</body")


def comparable(page: str) -> str:
    """A page without what may differ."""
    return without_nonce(html.unescape(re.sub(r"\s+(?=<)", "", page)))


def test_the_page_goes_along_once() -> None:
    first, second = run().show(height=400, view="flame"), run().show()
    shared = gzip.decompress(first._page).decode()
    assert len(shared) > 100 * len(first._file) and "training.pickle" not in shared
    assert (second._page, second._page_key) == (b"", first._page_key)
    assert "view=flame" in first.place and first.height == 400 and second.height == 720
    with pytest.raises(Exception, match="height.*-5"):
        first.height = -5
    assert comparable(page_with(first, shared)) == comparable(run().to_html(view="flame"))
    assert vramscope.open(first._file).peaks == run().peaks


def test_a_notebook_that_has_no_page_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    run().show()
    viewer = run().show()
    sent: List[Any] = []
    monkeypatch.setattr(viewer, "send", lambda *message: sent.append(message))
    for content in ({"wants": "nothing"}, "page", None):
        viewer._handle_custom_msg(content, [])
    assert sent == []
    viewer._handle_custom_msg({"wants": "page"}, [])
    [(content, [packed])] = sent
    assert content == {"page": viewer._page_key} and b"<html" in gzip.decompress(packed)


def test_who_runs_no_widget_sees_a_picture() -> None:
    bundle = run().show()._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"] == run()._repr_html_()


def test_names_are_as_they_were() -> None:
    run()
    name = "\"><script>alert(1)</script>&amp;'é\n"
    viewer = vramscope.open(TRAINING.read_bytes(), name=name).show()
    assert viewer._file_name == name.rsplit("/", 1)[1]
    assert "show(widget=False)" in repr(viewer)


def test_the_scripts_are_some() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node here")
    for name in ("widget.js", "frame.js"):
        module = _show.script("ground.js", name)
        subprocess.run([node, "--input-type=module", "--check"], input=module.encode(), check=True)


def test_without_anywidget_each_output_has_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(run().show(widget=False), vramscope.View)
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "vramscope._widget")
    assert isinstance(run().show(), vramscope.View)
    with pytest.raises(ImportError):
        run().show(widget=True)
