"""The stored output of cells, in a notebook of VS Code: it is run without VS Code, and opened there. Pictures go into the
folder in the first argument; the last has VS Code.

The Jupyter extension, which runs cells and shows widgets in VS Code, is not in any package registry. Without it VS Code
shows the file's content, and a widget's text.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from playwright.sync_api import Frame, Page, sync_playwright
from served import FIXTURES, PATIENCE_S, executable, free_port, served, wait_for

TRAINING = str(FIXTURES / "training.pickle")
CELLS = [
    f"import vramscope; run = vramscope.open({TRAINING!r})",
    "run.show(height=420, widget=False)",
    "run.show()",
]
WIDGET = "<vramscope viewer of training.pickle: a notebook without widgets shows it with show(widget=False)>"

# How much of the picture is drawn, from 0 to 1.
DRAWN = """() => {
    const canvas = document.querySelector(".stage canvas");
    const context = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, at) => at % 4 === 3 && value > 0).length / (data.length / 4);
}"""


def write_notebook(path: Path) -> None:
    """The cells with their output, as any Jupyter stores them."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, kernel_name="python3").execute()
    nbformat.write(notebook, path)


def frame_with(page: Page, what: str) -> Frame:
    """The frame in which an expression is true, once there is one."""
    found: list[Frame] = []

    def look() -> bool:
        for frame in page.frames:
            try:
                found.extend([frame] if frame.evaluate(what) else [])
            except Exception:  # noqa: BLE001  a frame that is loading
                continue
        return bool(found)

    wait_for(what, look, pause=lambda seconds: page.wait_for_timeout(seconds * 1000))
    return found[0]


def toggle_theme(page: Page) -> None:
    """By VS Code's palette."""
    name = "Toggle between Light/Dark Themes"
    page.keyboard.press("F1")
    page.keyboard.type(name)
    page.locator(f'.quick-input-list .monaco-list-row[aria-label*="{name}"]').first.click()


def check(page: Page, pictures: Path) -> None:
    """What must be so."""
    page.locator(".monaco-list-row", has_text="run.ipynb").dblclick()
    viewer = frame_with(page, "document.title.includes('vramscope') && !!document.querySelector('.rail')")
    # The keyboard stays with VS Code, in whose palette somebody may type.
    assert page.evaluate("document.activeElement.localName") != "iframe"
    has_theme = "theme => document.documentElement.dataset.theme === theme"
    for theme in ("light", "dark"):
        viewer.wait_for_function(has_theme, arg=theme)
        page.screenshot(path=pictures / f"vscode-notebook-{theme}.png")
        toggle_theme(page)
    viewer.wait_for_function(has_theme, arg="light")

    viewer.locator(".rail").get_by_text("Timeline", exact=True).click()
    viewer.locator(".stage canvas").first.wait_for()
    wait_for("the picture", lambda: viewer.evaluate(DRAWN) > 0.1, pause=lambda seconds: page.wait_for_timeout(seconds * 1000))
    assert "view=timeline" in viewer.evaluate("location.hash")
    page.screenshot(path=pictures / "vscode-notebook-timeline.png")
    frame_with(page, f"document.body.innerText.includes({WIDGET!r})")


def main() -> None:
    """Runs the test."""
    pictures, vscode = Path(sys.argv[1]), Path(sys.argv[-1])
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        files, profile = Path(folder, "files"), Path(folder, "profile")
        files.mkdir()
        write_notebook(files / "run.ipynb")
        # The browser must let VS Code's webviews, which are pages of other sites, have service workers.
        preferences = profile / "Default" / "Preferences"
        preferences.parent.mkdir(parents=True)
        preferences.write_text('{"profile": {"cookie_controls_mode": 0}}')
        command = ["node", vscode / "server.mjs", files, port]
        with served(command, port, "/", folder) as address, sync_playwright() as playwright:
            launch = playwright.chromium.launch_persistent_context
            context = launch(profile, executable_path=executable(), args=["--no-sandbox"], viewport={"width": 1400, "height": 1000})
            page = context.pages[0]
            page.set_default_timeout(PATIENCE_S * 1000)
            faults: list[str] = []
            page.on("pageerror", lambda error: faults.append(str(error)))
            ours = "about:srcdoc"
            page.on("console", lambda it: it.type == "error" and it.location["url"].startswith(ours) and faults.append(it.text))
            try:
                page.goto(address.replace("127.0.0.1", "localhost"))
                check(page, pictures)
            finally:
                page.screenshot(path=pictures / "vscode-notebook-last.png")
                context.close()
            assert not faults, faults
    print("the viewer works in notebooks of VS Code")


if __name__ == "__main__":
    main()
