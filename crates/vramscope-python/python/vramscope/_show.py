"""The viewer in a notebook without widgets, and in exports of notebooks: the standalone page inside a frame.

No package is needed. JupyterLab and marimo, and by their documentation VS Code and Colab, ask a cell's last value for
``_repr_html_``. The page is the frame's own document (``srcdoc``), so nothing is served and nothing is loaded. The
sandbox gives it an origin of its own: neither can it touch the notebook, nor the notebook's cookies reach it.
"""

from __future__ import annotations

import html

_FRAME = (
    '<iframe title="vramscope: {title}" style="width: 100%; height: {height_px}px; border: 0" '
    'sandbox="allow-scripts allow-downloads allow-popups" allow="clipboard-write; fullscreen" '
    'srcdoc="{page}"></iframe>'
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
        title, page = html.escape(self._title), html.escape(self.html)
        return _FRAME.format(title=title, page=page, height_px=int(self.height_px))

    def __repr__(self) -> str:
        return f"<vramscope.View of {self._title}: show it as the last line of a notebook's cell>"
