"""The viewer in a notebook with widgets: all cells share one page, and Python knows what is shown.

The page has 3 MB, more than most snapshots. So it goes to the notebook once, with the first viewer of this Python,
or when ``widget.js`` asks for it, and each cell puts the page and its own snapshot together. Needs anywidget.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import re
from typing import Any, Callable, List, Optional, Tuple

import anywidget
import traitlets

from ._show import script

_PLACE = re.compile(r'(?<=<html) data-place="([^"]*)"')
_FILE = re.compile(r'<script type="application/octet-stream" data-file="([^"]*)">([^<]*)</script>\n?')
_NONCE = re.compile(r"nonce(?:-|=\")[^\"']*")


class _Page:
    """The page that all viewers share."""

    def __init__(self, text: str) -> None:
        # If two Pythons have the same page, a notebook needs it once.
        self.key = hashlib.sha256(_NONCE.sub("", text).encode()).hexdigest()
        self.packed = gzip.compress(text.encode(), 6)
        self.is_sent = False

    def first_time(self) -> bytes:
        """The page for the first viewer. It is sent unasked, since answers wait until running cells finish."""
        is_sent, self.is_sent = self.is_sent, True
        return b"" if is_sent else self.packed


_page: Optional[_Page] = None


def _shared(text: str) -> _Page:
    """The page, which is the same for all snapshots."""
    global _page
    if _page is None:
        _page = _Page(text)
    return _page


class Viewer(anywidget.AnyWidget):
    """The viewer of one snapshot: the last line of a cell shows it.

    Attributes:
        place: The visible state, as the text after ``#`` in the page's address. It follows the user, and can be set.
        height: The height of the frame, in CSS pixels.
    """

    _esm = script("ground.js", "widget.js")

    place = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int(min=1).tag(sync=True)
    _file_name = traitlets.Unicode().tag(sync=True)
    _file = traitlets.Bytes().tag(sync=True)
    _page_key = traitlets.Unicode().tag(sync=True)
    _page = traitlets.Bytes().tag(sync=True)

    def __init__(self, page: str, height_px: int, picture: Callable[[], str]) -> None:
        self._picture = picture
        text, place, name, packed = _parts(page)
        self._shared = _shared(text)
        super().__init__(
            place=place,
            height=height_px,
            _file_name=name,
            _file=packed,
            _page_key=self._shared.key,
            _page=self._shared.first_time(),
        )
        self.on_msg(self._answer)

    def _answer(self, _: Any, content: Any, buffers: List[Any]) -> None:
        if content == {"wants": "page"}:
            self.send({"page": self._shared.key}, [self._shared.packed])

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The widget, and the picture for readers that run no widgets: GitHub, nbconvert."""
        bundle: Any = super()._repr_mimebundle_(**kwargs)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/html"] = self._picture()
        return bundle

    def __repr__(self) -> str:
        hint = "a notebook without widgets shows it with show(widget=False)"
        return f"<vramscope viewer of {self._file_name}: {hint}>"


def _parts(page: str) -> Tuple[str, str, str, bytes]:
    """The parts of a page from ``to_html()``: what all pages share, the place, the file's name and its content."""
    place, file = _PLACE.search(page), _FILE.search(page)
    if place is None or file is None:
        raise ValueError("this page has no snapshot inside")
    shared = page[: place.start()] + page[place.end() : file.start()] + page[file.end() :]
    name = html.unescape(file[1])
    return shared, html.unescape(place[1]), name, base64.b64decode(file[2])
