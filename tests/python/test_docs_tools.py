"""Docs tools, with the real tools: their output has the element, its snapshot and its pictures."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from conftest import FIXTURES

SNAPSHOT = FIXTURES / "torch-2.15.0" / "training.pickle"
OTHER = FIXTURES / "torch-2.15.0" / "oom_observer.pickle"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Enough of the viewer's folder."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "viewer.js").write_text("// the element")
    return folder


def built(*command: object) -> str:
    ran = subprocess.run([sys.executable, "-m", *map(str, command)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


@pytest.mark.parametrize("builder", ["html", "dirhtml", "epub", "text"])
def test_sphinx(builder: str, site: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "deep").mkdir(parents=True)
    (docs / "conf.py").write_text(f'extensions = ["vramscope.sphinx"]\nvramscope_site = "../{site.name}"\n')
    (docs / "index.rst").write_text("Docs\n====\n\n.. toctree::\n\n   deep/page\n")
    page = "Page\n====\n\n.. vramscope:: ../run #1.pickle\n   :view: map\n   :device: 0\n   :height: 420\n\nAfter.\n"
    (docs / "deep" / "page.rst").write_text(page)
    shutil.copyfile(SNAPSHOT, docs / "run #1.pickle")
    out = tmp_path / "out"
    # A book without a version is warned about.
    built("sphinx", "-q", *([] if builder == "epub" else ["-W"]), "-b", builder, docs, out)
    if builder == "text":
        assert "After." in (out / "deep" / "page.txt").read_text()
        return
    if builder == "epub":
        assert "-light.svg" in (out / "deep" / "page.xhtml").read_text()
        return
    page_file = out / "deep" / ("page.html" if builder == "html" else "page/index.html")
    text = page_file.read_text()
    found = re.search("<vramscope-viewer ([^>]*)>", text)
    assert found
    attributes = dict(re.findall('([a-z-]+)="([^"]*)"', found[1]))
    assert attributes["view"] == "map" and attributes["height"] == "420" and attributes["reveal"] == "click"
    for name in ("src", "poster", "poster-dark"):
        assert (page_file.parent / unquote(attributes[name])).is_file(), attributes[name]
    script = re.search('<script type="module" src="([^"?]*)', text) or re.search('src="([^"?]*viewer.js)[^"]*" type="module"', text)
    assert script and (page_file.parent / script[1]).is_file()


@pytest.fixture
def docs(site: Path, tmp_path: Path) -> Path:
    """Docs with a page that shows a snapshot, and one that does not."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "conf.py").write_text(f'extensions = ["vramscope.sphinx"]\nvramscope_site = "../{site.name}"\n')
    (docs / "index.rst").write_text("Docs\n====\n\n.. toctree::\n\n   other\n\n.. vramscope:: run.pickle\n")
    (docs / "other.rst").write_text("Other\n=====\n\n.. vramscope:: run é'&.vram\n   :view: map\n")
    shutil.copyfile(SNAPSHOT, docs / "run.pickle")
    shutil.copyfile(FIXTURES / "torch-2.15.0" / "two_devices.pickle", docs / "run é'&.vram")
    return docs


def published(docs: Path, builder: str) -> dict[str, set[str]]:
    """Builds the docs, and returns the files that are published for each snapshot, by its name."""
    out = docs.parent / "out"
    built("sphinx", "-q", "-b", builder, docs, out)
    folders = [{file.name for file in folder.iterdir()} for folder in (out / "_vramscope").iterdir()]
    return {next(name for name in names if not name.endswith(".svg")): names for names in folders}


@pytest.mark.parametrize("builder", ["html", "json", "singlehtml"])
def test_sphinx_leaves_no_snapshot_that_no_page_shows(builder: str, docs: Path) -> None:
    first = published(docs, builder)
    assert {name: len(names) for name, names in first.items()} == {"run.pickle": 3, "run é'&.vram": 3}
    before = set((docs.parent / "out" / "_vramscope").iterdir())
    shutil.copyfile(OTHER, docs / "run.pickle")
    assert published(docs, builder).keys() == first.keys()
    assert len(before - set((docs.parent / "out" / "_vramscope").iterdir())) == 1
    # Another picture of the same snapshot, then none.
    page = (docs / "index.rst").read_text()
    (docs / "index.rst").write_text(f"{page}   :view: flame\n")
    assert len(published(docs, builder)["run.pickle"]) == 3
    (docs / "index.rst").write_text("Docs\n====\n\n.. toctree::\n\n   other\n")
    assert published(docs, builder).keys() == {"run é'&.vram"}


def test_sphinx_draws_again_with_another_build_of_the_package(docs: Path) -> None:
    first = published(docs, "html")
    assert published(docs, "html") == first
    other = "import vramscope.sphinx\nvramscope.sphinx._build = lambda: 'another'\n"
    (docs / "conf.py").write_text((docs / "conf.py").read_text() + other)
    for name, names in published(docs, "html").items():
        assert names & first[name] == {name}


@pytest.mark.parametrize(
    "option",
    ["view: maps", "theme: night", "loading: soon", "reveal: hover", "controls: some", "height: tall", "height: 50%"],
)
def test_sphinx_says_which_option_is_wrong(option: str, docs: Path) -> None:
    (docs / "other.rst").write_text(f"Other\n=====\n\n.. vramscope:: run.pickle\n   :{option}\n")
    said = built("sphinx", "-q", "-b", "html", docs, docs.parent / "out")
    assert f'invalid option value: (option: "{option.split(":")[0]}"' in said


def test_sphinx_takes_all_heights(docs: Path) -> None:
    heights = ["420", "420px", "300.5", ".5in", "30em", "50vh", "calc(100vh - 4em)"]
    elements = "".join(f".. vramscope:: run.pickle\n   :height: {height}\n\n" for height in heights)
    (docs / "other.rst").write_text(f"Other\n=====\n\n{elements}")
    published(docs, "html")
    assert re.findall('height="([^"]*)"', (docs.parent / "out" / "other.html").read_text()) == heights


def test_sphinx_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text('extensions = ["vramscope.sphinx"]\nvramscope_site = "/viewer"\n')
    (tmp_path / "index.rst").write_text("Docs\n====\n\n.. vramscope:: nothing.pickle\n")
    assert "there is no snapshot" in built("sphinx", "-q", "-b", "html", tmp_path, tmp_path / "out")


def test_sphinx_says_at_once_that_the_viewer_is_missing(tmp_path: Path) -> None:
    (tmp_path / "conf.py").write_text('extensions = ["vramscope.sphinx"]\nvramscope_site = "nowhere"\n')
    (tmp_path / "index.rst").write_text("Docs\n====\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", tmp_path, tmp_path / "out"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode != 0 and f"{tmp_path / 'nowhere'} has no viewer.js" in ran.stderr, ran.stderr
    assert not (tmp_path / "out" / "index.html").exists()


def test_mkdocs(site: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copyfile(SNAPSHOT, docs / "run.pickle")
    shutil.copytree(site, docs / "vramscope")
    script = "extra_javascript:\n  - path: vramscope/viewer.js\n    type: module\n"
    (tmp_path / "mkdocs.yml").write_text(f"site_name: docs\ntheme: mkdocs\n{script}")
    (docs / "index.md").write_text('# Docs\n\n<vramscope-viewer src="run.pickle" reveal="click"></vramscope-viewer>\n')
    built("mkdocs", "build", "--quiet", "--strict", "--config-file", tmp_path / "mkdocs.yml")
    text = (tmp_path / "site" / "index.html").read_text()
    assert '<vramscope-viewer src="run.pickle" reveal="click"></vramscope-viewer>' in text
    assert re.search('<script[^>]*type="module"[^>]*>', text) and (tmp_path / "site" / "run.pickle").is_file()
