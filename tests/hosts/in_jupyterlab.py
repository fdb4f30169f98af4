"""`show()` in a real JupyterLab. It prints how many bytes each cell sent, and writes pictures into the folder that is its
argument.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Frame, Page
from served import FIXTURES, PATIENCE_S, browser, free_port, served, wait_for

# One of the page's files, and so more than all else together.
PAGE_BYTES = 1_500_000

CELLS = [
    "import vramscope",
    f"first = vramscope.open({str(FIXTURES / 'training.pickle')!r}).show(height=420); first",
    f"second = vramscope.open({str(FIXTURES / 'annotated.pickle')!r}).show(height=420, view='timeline'); second",
    "print(first.place)",
    "first.place = first.place.replace('view=flame', 'view=table')",
    f"vramscope.open({str(FIXTURES / 'training.pickle')!r}).show(height=420, widget=False)",
]


def notebook() -> str:
    """The cells as a file."""
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    cell = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    cells = [{**cell, "id": f"cell{number}", "source": source} for number, source in enumerate(CELLS)]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells})


class Notebook:
    """The notebook in a browser."""

    def __init__(self, page: Page, address: str, pictures: Path) -> None:
        self.page = page
        self.pictures = pictures
        self.received_bytes = 0
        page.on("websocket", lambda socket: socket.on("framereceived", self.count))
        page.goto(f"{address}/lab/tree/notebook.ipynb?token=t")
        self.when_ready()

    def when_ready(self) -> None:
        """Waits until cells can be run."""
        ready = "globalThis.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
        wait_for("the kernel", lambda: self.page.evaluate(ready), self.pause)

    def pause(self, seconds: float) -> None:
        """Lets the browser go on."""
        self.page.wait_for_timeout(seconds * 1000)

    def count(self, payload: str | bytes) -> None:
        """Counts what the kernel sends."""
        self.received_bytes += len(payload)

    def run(self, number: int) -> int:
        """Runs a cell. Returns how many bytes came for it."""
        before = self.received_bytes
        self.page.evaluate(
            """number => {
                const notebook = jupyterapp.shell.currentWidget.content;
                notebook.activeCellIndex = number;
                notebook.deselectAll();
                return jupyterapp.commands.execute("notebook:run-cell");
            }""",
            number,
        )
        self.pause(1)
        return self.received_bytes - before

    def output(self, number: int) -> str:
        """The text below a cell."""
        return self.page.locator(".jp-Cell").nth(number).locator(".jp-OutputArea").inner_text()

    def viewer(self, number: int) -> Frame:
        """The frame below a cell, when the viewer has drawn."""
        element = self.page.locator(".jp-Cell").nth(number).locator("iframe[title^=vramscope]")
        element.scroll_into_view_if_needed(timeout=PATIENCE_S * 1000)
        frame = element.element_handle().content_frame()
        assert frame is not None
        frame.wait_for_selector(".rail", timeout=PATIENCE_S * 1000)
        return frame

    def picture(self, name: str) -> None:
        """A picture of the window."""
        self.pause(1)
        self.page.screenshot(path=self.pictures / f"jupyterlab-{name}.png")

    def has_theme(self, theme: str) -> None:
        """Makes the notebook dark or light, and waits until the viewers follow."""
        self.page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', { theme })", f"JupyterLab {theme}")


def check(notebook: Notebook) -> None:
    """What must be so."""
    notebook.run(0)
    sent = [notebook.run(1)]
    first = notebook.viewer(1)
    notebook.picture("first")
    sent.append(notebook.run(2))
    second = notebook.viewer(2)
    notebook.picture("second")
    print(f"bytes for the first viewer: {sent[0]:,}, for the second: {sent[1]:,}")
    assert sent[0] > PAGE_BYTES > 20 * sent[1], sent

    # The place follows the user, and Python sets it.
    assert "view=timeline" in place(second)
    first.locator(".rail").get_by_text("Flame").click()
    wait_for("the place", lambda: notebook.run(3) and "view=flame" in notebook.output(3), notebook.pause)
    assert "file=training.pickle" in notebook.output(3)
    notebook.run(4)
    wait_for("the view that Python set", lambda: "view=table" in place(first), notebook.pause)
    notebook.picture("set")

    # Its document has no address.
    assert first.locator(".in-full").count() == 1 and not first.locator(".in-full").is_visible()

    # The theme is the notebook's.
    notebook.has_theme("Dark")
    wait_for("the dark theme", lambda: theme(first) == theme(second) == "dark", notebook.pause)
    notebook.picture("dark")
    notebook.has_theme("Light")
    wait_for("the light theme", lambda: theme(first) == theme(second) == "light", notebook.pause)

    # Notebooks remove cells that are out of sight from the document.
    notebook.page.locator("iframe[title^=vramscope]").first.evaluate("it => it.parentElement.replaceChildren(it)")
    first = notebook.viewer(1)
    notebook.run(3)
    assert "view=table" in place(first) and "view=table" in notebook.output(3)

    # After reloading, the notebook has no page, and gets one.
    notebook.page.evaluate("jupyterapp.commands.execute('docmanager:save')")
    before = notebook.received_bytes
    notebook.page.reload()
    notebook.when_ready()
    assert "view=table" in place(notebook.viewer(1))
    notebook.viewer(2)
    received = notebook.received_bytes - before
    print(f"bytes for both, loaded anew: {received:,}")
    assert PAGE_BYTES < received < 2 * sent[0], received

    print(f"bytes without a widget: {notebook.run(5):,}")
    alone = notebook.viewer(5)
    notebook.picture("without")
    notebook.has_theme("Dark")
    wait_for("the dark theme", lambda: theme(alone) == "dark", notebook.pause)


def place(frame: Frame) -> str:
    """What a viewer shows."""
    return str(frame.evaluate("location.hash"))


def theme(frame: Frame) -> object:
    """The theme that a viewer has."""
    return frame.evaluate("document.documentElement.dataset.theme")


def main() -> None:
    """Runs the test."""
    pictures = Path(sys.argv[1])
    port = free_port()
    options = [f"--port={port}", "--no-browser", "--allow-root", "--expose-app-in-browser", "--IdentityProvider.token=t"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "notebook.ipynb").write_text(notebook())
        places = dict.fromkeys(["JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"], folder)
        command = [sys.executable, "-m", "jupyterlab", *options]
        with served(command, port, "/api?token=t", folder, **places) as address, browser() as chromium:
            page = chromium.new_page(viewport={"width": 1400, "height": 1000})
            page.on("console", lambda message: message.type == "error" and print("console:", message.text))
            try:
                check(Notebook(page, address, pictures))
            finally:
                page.screenshot(path=pictures / "jupyterlab-last.png")
    print("the viewer works in JupyterLab")


if __name__ == "__main__":
    main()
