"""The standalone page that a run logs to Weights & Biases as in the book: the file stored for the server is unchanged, and
opens in a frame of an opaque origin. A picture goes into the folder that is the first argument.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from served import FIXTURES, PATIENCE_S, browser, files_of, recipes


def main() -> None:
    """Runs the test."""
    pictures = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["WANDB_MODE"] = "offline"
        shutil.copyfile(FIXTURES / "training.pickle", "snapshot.pickle")
        (recipe,) = recipes("Weights & Biases")
        exec(recipe, {})
        (logged,) = Path(folder, "wandb").glob("offline-run-*/files/media/html/*.html")
        assert logged.read_bytes() == Path("memory.html").read_bytes()
        frame = f'<iframe sandbox="allow-scripts" width="1380" height="880" src="{logged.relative_to(folder)}"></iframe>'
        Path(folder, "index.html").write_text(frame)
        with files_of(Path(folder)) as address, browser() as chromium:
            page = chromium.new_page(viewport={"width": 1400, "height": 900})
            page.goto(address)
            inner = page.frame_locator("iframe")
            inner.get_by_text("Peak live", exact=True).first.wait_for(timeout=PATIENCE_S * 1000)
            inner.locator(".rail").get_by_text("Timeline").click()
            inner.locator(".stage canvas").first.wait_for(timeout=PATIENCE_S * 1000)
            page.screenshot(path=pictures / "wandb.png")
    print("the standalone page works in Weights & Biases")


if __name__ == "__main__":
    main()
