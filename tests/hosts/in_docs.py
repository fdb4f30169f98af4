"""The element in pages that mdBook, MkDocs and Sphinx build from the book's recipes: a picture until it is clicked, then
the viewer. Also searches for a word in our own book. The arguments are a folder for pictures, the viewer's folder,
and the program mdBook.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser
from served import FIXTURES, PATIENCE_S, ROOT, browser, files_of, opened, recipes

RECORDED = FIXTURES.parent / "roles" / "rules" / "gpt_adamw.pickle.zst"


def sources(folder: Path) -> Path:
    """A folder for a tool's sources, with the snapshot and its picture under the names that the recipes have."""
    folder.mkdir(parents=True)
    snapshot = folder / "snapshot.pickle.zst"
    shutil.copyfile(RECORDED, snapshot)
    subprocess.run(["vramscope", "plot", snapshot, "-o", folder / "snapshot.svg"], check=True)
    return folder


def with_mdbook(mdbook: str, work: Path, out: Path) -> None:
    """Builds a book of one chapter."""
    head, chapter = recipes("mdBook")
    docs = sources(work / "mdbook" / "src")
    (docs / "SUMMARY.md").write_text("- [Docs](index.md)\n")
    (docs / "index.md").write_text(f"# Docs\n\n{chapter}")
    book = docs.parent
    (book / "book.toml").write_text("")
    (book / "theme").mkdir()
    (book / "theme" / "head.hbs").write_text(head)
    subprocess.run([mdbook, "build", "--dest-dir", out, book], check=True)


def with_mkdocs(work: Path, out: Path) -> None:
    """Builds a site of one page, with the element as mdBook has it."""
    docs = sources(work / "mkdocs" / "docs")
    (docs / "index.md").write_text(f"# Docs\n\n{recipes('mdBook')[1]}")
    settings = docs.parent / "mkdocs.yml"
    # Without what that theme loads from elsewhere.
    settings.write_text(f"site_name: docs\ntheme: {{name: mkdocs, highlightjs: false}}\n{recipes('MkDocs')[0]}")
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", settings, "--site-dir", out]
    subprocess.run(mkdocs, check=True)


def with_sphinx(viewers: Path, work: Path, out: Path) -> None:
    """Builds a site of one page with the directive."""
    settings, page = recipes("Sphinx")
    docs = sources(work / "sphinx")
    (docs / "conf.py").write_text(settings.replace("../dist/site", str(viewers)))
    (docs / "index.rst").write_text(f"Docs\n====\n\n{page}")
    subprocess.run([sys.executable, "-m", "sphinx", "-W", "-b", "html", docs, out], check=True)


def look(chromium: Browser, address: str, picture: Path) -> None:
    """Looks at a page: its picture, then its viewer."""
    with opened(chromium, address) as page:
        button = page.locator("vramscope-viewer button")
        button.wait_for()
        poster = "element => element.shadowRoot.querySelector('img').naturalWidth"
        page.wait_for_function(f"(({poster})(document.querySelector('vramscope-viewer'))) > 0")
        assert page.locator("vramscope-viewer iframe").count() == 0
        button.click()
        stage = page.frame_locator("vramscope-viewer iframe").locator(".stage canvas")
        stage.first.wait_for(timeout=PATIENCE_S * 1000)
        page.wait_for_timeout(1000)
        page.screenshot(path=picture)


def search(chromium: Browser, mdbook: str, out: Path, picture: Path) -> None:
    """Searches our own book, as files and without a network."""
    subprocess.run([mdbook, "build", "--dest-dir", out, ROOT / "book"], check=True)
    with opened(chromium, (out / "index.html").as_uri()) as page:
        page.context.set_offline(True)
        page.keyboard.press("s")
        found = page.locator("#mdbook-searchresults li:first-child a")
        for word, title in (("leak", "Find a leak"), ("sql", "Ask with SQL"), ("fragmentation", "Tame fragmentation")):
            page.locator("#mdbook-searchbar").fill("")
            page.locator("#mdbook-searchbar").press_sequentially(word)
            chapter = found.filter(has_text=title)
            chapter.wait_for()
        page.screenshot(path=picture)
        chapter.click()
        page.wait_for_url("**/tame-fragmentation.html?highlight=fragmentation*")
        page.locator("main mark").first.wait_for()


def main() -> None:
    """Runs the test."""
    pictures, viewers = map(Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        work, site = Path(folder, "work"), Path(folder, "site")
        shutil.copytree(viewers, site / "vramscope")
        with_mdbook(sys.argv[3], work, site / "mdbook")
        with_mkdocs(work, site / "mkdocs")
        with_sphinx(viewers, work, site / "sphinx")
        with files_of(site) as address, browser() as chromium:
            search(chromium, sys.argv[3], Path(folder, "book"), pictures / "book-search.png")
            print("our book is searched without a network")
            for tool in ("mdbook", "mkdocs", "sphinx"):
                look(chromium, f"{address}/{tool}/", pictures / f"{tool}.png")
                print(f"the element works in {tool}")


if __name__ == "__main__":
    main()
