"""`show()` in a real marimo, as an app and in its editor. Pictures go into the folder that is the first argument."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Frame, Page
from served import FIXTURES, PATIENCE_S, browser, free_port, served, wait_for

# Python follows the user from the flame graph to the table.
NOTEBOOK = f"""
import marimo

app = marimo.App(width="full")


@app.cell
def _():
    import vramscope

    run = vramscope.open({str(FIXTURES / "training.pickle")!r})
    return run, vramscope


@app.cell
def _(run):
    first = run.show(height=420)

    def follow(_):
        first.place = first.place.replace("view=flame", "view=table")

    first.observe(follow, "place")
    first
    return


@app.cell
def _(vramscope):
    vramscope.open({str(FIXTURES / "annotated.pickle")!r}).show(height=420, view="timeline")
    return


@app.cell
def _(run):
    run.show(height=420, widget=False)
    return


if __name__ == "__main__":
    app.run()
"""


def check(page: Page) -> None:
    """Checks the three viewers."""
    first, second, _alone = (viewer(page, name) for name in (" training.pickle", " annotated.pickle", "/training.pickle"))
    assert "file=annotated.pickle" in place(second) and "view=timeline" in place(second)
    first.locator(".rail").get_by_text("Flame").click()
    wait_for("the place that Python set", lambda: "view=table" in place(first), lambda s: page.wait_for_timeout(s * 1000))


def viewer(page: Page, name: str) -> Frame:
    """The frame of the viewer whose title ends so, when it has drawn."""
    element = page.locator(f"iframe[title^=vramscope][title$='{name}']")
    element.scroll_into_view_if_needed()
    handle = element.element_handle()
    frame = handle and handle.content_frame()
    assert frame is not None
    frame.wait_for_selector(".rail")
    return frame


def place(frame: Frame) -> str:
    """What a viewer shows."""
    return str(frame.evaluate("location.hash"))


def main() -> None:
    """Runs the test."""
    pictures = Path(sys.argv[1])
    with browser() as chromium:
        for mode in ("run", "edit"):
            with tempfile.TemporaryDirectory() as folder:
                look(chromium, mode, folder, pictures / f"marimo-{mode}.png")
    print("the viewer works in marimo")


def look(chromium: Browser, mode: str, folder: str, picture: Path) -> None:
    """Opens the notebook, whose cells run at once as an app."""
    Path(folder, "notebook.py").write_text(NOTEBOOK)
    port = free_port()
    options = ["--headless", "--no-token", f"--port={port}"]
    command = [sys.executable, "-m", "marimo", "--yes", mode, "notebook.py", *options]
    with served(command, port, "/health", folder) as address:
        page = chromium.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(PATIENCE_S * 1000)
        page.on("console", lambda message: message.type == "error" and print("console:", message.text))
        page.goto(address)
        try:
            if mode == "edit":
                page.locator(".cm-editor").first.wait_for()
                page.keyboard.press("Control+Shift+r")
            check(page)
        finally:
            page.screenshot(path=picture)
            page.close()


if __name__ == "__main__":
    main()
