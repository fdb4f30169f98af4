"""The frame in a text panel of Grafana, as in the book: unchanged, as Grafana shows it if configured to, and as changed by
Grafana's own code otherwise, which leaves a link. The arguments are a folder for pictures, the viewer's, and one
with Grafana's package.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from served import FIXTURES, PATIENCE_S, browser, files_of, recipes

SANITIZED = "process.stdout.write(require('@grafana/data').textUtil.sanitizeTextPanelContent(process.argv[1]))"


def main() -> None:
    """Runs the test."""
    pictures, viewers, packages = map(Path, sys.argv[1:])
    frame, link = recipes("Grafana")

    def sanitized(content: str) -> str:
        return subprocess.run(["node", "-e", SANITIZED, content], cwd=packages, check=True, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(viewers, Path(folder, "vramscope"))
        Path(folder, "runs").mkdir()
        shutil.copyfile(FIXTURES / "training.pickle", Path(folder, "runs", "latest.pickle"))
        with files_of(Path(folder)) as address, browser() as chromium:
            page = chromium.new_page(viewport={"width": 1400, "height": 900})

            def panel(content: str) -> None:
                # The viewer is on another server than the dashboard.
                text = json.dumps(content.replace('"/vramscope/', f'"{address}/vramscope/')).replace("</", "<\\/")
                panel = "<div id=panel style='height: 800px'></div>"
                Path(folder, "dashboard.html").write_text(f"{panel}<script>panel.innerHTML = {text}</script>")
                page.goto(address.replace("127.0.0.1", "dashboard.localhost") + "/dashboard.html")

            panel(frame)
            inner = page.frame_locator("iframe")
            inner.locator(".stage canvas").first.wait_for(timeout=PATIENCE_S * 1000)
            assert inner.locator("html").get_attribute("data-theme") == "dark"
            page.screenshot(path=pictures / "grafana.png")

            panel(sanitized(frame))
            inner.locator("noscript").wait_for()

            panel(sanitized(link))
            with page.expect_popup() as opened:
                page.get_by_text("The last snapshot").click()
            opened.value.get_by_text("Peak live", exact=True).first.wait_for(timeout=PATIENCE_S * 1000)
    print("the frame works in a text panel of Grafana, and the link in a sanitized one")


if __name__ == "__main__":
    main()
