"""The element in a site that Docusaurus builds from MDX: on a page from the server, and on one reached by navigation within
the site. The arguments are a folder for pictures, the viewer's folder, and one with the site's sources and its packages.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import vramscope
from playwright.sync_api import Frame, Page
from served import FIXTURES, PATIENCE_S, browser, files_of, opened


def viewer(page: Page, view: str) -> Frame:
    """The frame in the only element, when it shows a view."""
    element = page.locator("vramscope-viewer iframe")
    element.wait_for(timeout=PATIENCE_S * 1000)
    frame = element.element_handle().content_frame()
    assert frame is not None
    frame.wait_for_selector(".view canvas", timeout=PATIENCE_S * 1000)
    frame.wait_for_function("view => location.hash.includes(`view=${view}`)", arg=view)
    return frame


def main() -> None:
    """Runs the test."""
    pictures, viewers, site = map(Path, sys.argv[1:])
    static = site / "static"
    shutil.rmtree(static, ignore_errors=True)
    shutil.copytree(viewers, static / "vramscope")
    (static / "snapshots").mkdir()
    snapshot = static / "snapshots" / "training.pickle"
    shutil.copyfile(FIXTURES / "training.pickle", snapshot)
    subprocess.run([shutil.which("vramscope") or "vramscope", "plot", snapshot, "-o", snapshot.with_suffix(".svg")], check=True)
    subprocess.run(["node", "node_modules/.bin/docusaurus", "build"], cwd=site, check=True)
    with files_of(site / "build") as address, browser() as chromium, opened(chromium, address) as page:
        # The poster stays until it is clicked, and the page has not asked for the snapshot.
        button = page.locator("vramscope-viewer button")
        button.wait_for()
        assert page.locator("vramscope-viewer iframe").count() == 0
        button.click()
        viewer(page, "map")
        page.screenshot(path=pictures / "docusaurus-first.png")
        page.get_by_text("The second page").click()
        page.wait_for_url("**/second")
        viewer(page, "flame")
        page.screenshot(path=pictures / "docusaurus-second.png")
    print("the element works in Docusaurus")


if __name__ == "__main__":
    main()
