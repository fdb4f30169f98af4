"""The site as a static Space of Hugging Face, with the head of its README as in the book: `huggingface_hub` parses
it, and the files, served as they are, show a snapshot beside them, in a frame of another origin, as the hub shows
Spaces. The arguments are a folder for pictures, and the viewer's.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from huggingface_hub import SpaceCard
from served import FIXTURES, PATIENCE_S, browser, files_of, opened, recipes


def main() -> None:
    """Runs the test."""
    pictures, viewers = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        space = Path(folder, "space")
        shutil.copytree(viewers, space)
        shutil.copyfile(FIXTURES / "training.pickle", space / "snapshot.pickle")
        (space / "README.md").write_text(recipes("Hugging Face Space")[0])
        card = SpaceCard.load(space / "README.md").data
        assert card.sdk == "static", card
        shown = space / card.app_file
        assert shown.is_file()
        with files_of(Path(folder)) as address, browser() as chromium:
            source = f"{address}/space/{shown.name}?src=snapshot.pickle"
            frame = f'<iframe sandbox="allow-scripts allow-same-origin" width="1260" height="700" src="{source}"></iframe>'
            Path(folder, "hub.html").write_text(frame)
            with opened(chromium, address.replace("127.0.0.1", "hub.localhost") + "/hub.html") as page:
                inner = page.frame_locator("iframe")
                inner.get_by_text("Peak live", exact=True).first.wait_for(timeout=PATIENCE_S * 1000)
                inner.locator(".rail").get_by_text("Timeline").click()
                inner.locator(".stage canvas").first.wait_for(timeout=PATIENCE_S * 1000)
                page.screenshot(path=pictures / "space.png")
    print("the site works as a static Space")


if __name__ == "__main__":
    main()
