"""The viewer in a notebook without widgets, and in exports of notebooks: the standalone page inside a frame.

No package is needed. JupyterLab, marimo and VS Code, and by its documentation Colab, ask a cell's last value for
``_repr_html_``. The page is the frame's own document (``srcdoc``), so nothing is served and nothing is loaded. The
sandbox gives it an origin of its own: neither can it touch the notebook, nor the notebook's cookies reach it.
"""

from __future__ import annotations

import base64
import html
from pathlib import Path

_FRAME = (
    '<iframe title="vramscope: {title}" style="width: 100%; height: {height_px}px; border: 0" '
    'sandbox="allow-scripts allow-downloads allow-popups" allow="clipboard-write; fullscreen" '
    # No script of its own: marimo would put all of it into a further frame.
    'onload="((frame) => {{{script}}})(this)" srcdoc="{page}"></iframe>'
)
# As in widget.js: the page leaves the wheel and the keyboard to the notebook, and hides what such a frame cannot do.
_EMBEDDED = '<html data-search="?mode=embed"'
_STYLE = "<style>.in-full { display: none !important }</style>"


def script(*names: str) -> str:
    """Scripts of this package, one after the other."""
    return "".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in names)


def shown(picture: bytes, caption: str) -> str:
    """A picture with its caption, as HTML. In an image nothing of an SVG can run, and no name is taken twice in a page."""
    data, words = base64.b64encode(picture).decode(), html.escape(caption)
    return (
        f'<figure style="margin: 0"><img alt="{words}" style="max-width: 100%" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{words}</figcaption></figure>"
    )


class View:
    """A page for a notebook: the last line of a cell shows it, as ``IPython.display.display`` does elsewhere.

    Attributes:
        html: The page, a whole HTML document.
        height_px: The height of its frame, in CSS pixels.
    """

    def __init__(self, page: str, title: str, height_px: int) -> None:
        self.html = page
        self.height_px = height_px
        self._title = title

    def _repr_html_(self) -> str:
        page = self.html.replace("<html", _EMBEDDED, 1).replace("</head>", f"{_STYLE}</head>", 1)
        return _FRAME.format(
            title=html.escape(self._title),
            page=html.escape(page),
            height_px=int(self.height_px),
            script=html.escape(script("ground.js", "frame.js")),
        )

    def __repr__(self) -> str:
        return f"<vramscope.View of {self._title}: show it as the last line of a notebook's cell>"
