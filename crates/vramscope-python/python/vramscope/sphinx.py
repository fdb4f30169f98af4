"""A directive for Sphinx: a picture of a snapshot, which opens the viewer when clicked.

In ``conf.py``::

    extensions = ["vramscope.sphinx"]
    vramscope_site = "../dist/site"     # the viewer's folder, which is copied into the built pages, or its address

In a page, with the attributes of the element ``<vramscope-viewer>`` as options::

    .. vramscope:: run.pickle
       :view: map
       :height: 420

The pictures, light and dark, are drawn while the pages are built, and again by another build of this package. Snapshots
and pictures that no page shows any more are removed.
"""

from __future__ import annotations

import hashlib
import html
import os
import posixpath
import re
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Set
from urllib.parse import quote, unquote_to_bytes

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from . import __version__, _vramscope

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# The views that `vramscope plot` draws; others get the timeline's picture.
_PICTURED = ("timeline", "segments", "map", "allocator", "flame")
_VIEWS = (*_PICTURED, "overview", "table", "compare", "what-if", "facts")
# Options of the element that are also options of `vramscope plot`.
_PLOTTED = {"device": "--device", "range": "--range", "search": "--filter"}
_FOLDER = "_vramscope"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


@lru_cache(maxsize=None)
def _build() -> str:
    """The build of this package: two with the same version may draw differently."""
    return _digest(Path(_vramscope.__file__).read_bytes())


def _one_of(*words: str) -> Callable[[str], str]:
    return lambda argument: str(directives.choice(argument, words))


def _height(argument: str) -> str:
    """Pixels or a CSS length; a percentage would show nothing, as the parent has no height here."""
    height = argument.strip() if argument else ""
    if not re.fullmatch(r"(\d*\.)?\d+[a-z]*|[a-z]+\(.*\)", height):
        raise ValueError(f"a height is a number of pixels or a length such as 30em, not {height!r}")
    return height


class _Viewer(nodes.General, nodes.Element):
    """A snapshot in a page: its path and the element's attributes."""


class _Directive(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {
        "view": _one_of(*_VIEWS),
        "theme": _one_of("light", "dark", "system"),
        "loading": _one_of("lazy", "eager"),
        "reveal": _one_of("auto", "click"),
        "controls": _one_of("full", "mini", "none"),
        "height": _height,
        **dict.fromkeys(("device", "range", "search", "alt"), directives.unchanged),
    }

    def run(self) -> List[nodes.Node]:
        relative, path = self.env.relfn2path(self.arguments[0])
        if not Path(path).is_file():
            raise self.error(f"there is no snapshot {path}")
        self.env.note_dependency(relative)
        return [_Viewer("", path=path, options={"reveal": "click", **self.options})]


def _pictures(path: Path, options: Dict[str, str], folder: Path) -> Dict[str, str]:
    """Draws the posters into a folder, and returns the names of the files by attribute."""
    view = options.get("view", "timeline")
    command = [sys.executable, "-m", "vramscope", "plot", str(path), "--size", "900x400"]
    command += ["--view", view] if view in _PICTURED else []
    for option, word in _PLOTTED.items():
        command += [word, options[option]] if option in options else []
    drawn = _digest(repr((_build(), command[4:])).encode())
    names = {"poster": f"{drawn}-light.svg", "poster-dark": f"{drawn}-dark.svg"}
    for name in names.values():
        if (folder / name).exists():
            continue
        # Under another name until it is complete: pages are written by several processes.
        half = folder / f"{os.getpid()}-{name}"
        theme = name.rsplit("-", 1)[1][: -len(".svg")]
        ran = subprocess.run([*command, "--theme", theme, "-o", str(half)], capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise ExtensionError(f"vramscope: {ran.stderr.strip()}")
        half.replace(folder / name)
    return names


def _visit(self: Any, node: _Viewer) -> None:
    path, options = Path(node["path"]), node["options"]
    # Files of the same name may be in several folders, and change.
    digest = _digest(path.read_bytes())
    folder = Path(self.builder.outdir, _FOLDER, digest)
    folder.mkdir(parents=True, exist_ok=True)
    here = posixpath.dirname(self.builder.get_target_uri(self.builder.current_docname))
    base = posixpath.relpath(f"{_FOLDER}/{digest}", here or ".")
    files = {name: f"{base}/{file}" for name, file in _pictures(path, options, folder).items()}
    what = html.escape(options.get("alt", path.name))
    # For readers without scripts, as in a printed book.
    picture = f'<img src="{files["poster"]}" alt="{what}">'
    if self.builder.format != "html" or self.builder.name == "epub":
        self.body.append(picture)
        raise nodes.SkipNode
    shutil.copyfile(path, folder / path.name)
    attributes = {"src": f"{base}/{quote(path.name)}", **files, **options}
    words = " ".join(f'{name}="{html.escape(value)}"' for name, value in attributes.items())
    self.body.append(f"<vramscope-viewer {words}>{picture}</vramscope-viewer>")
    raise nodes.SkipNode


def _skip(_self: Any, _node: _Viewer) -> None:
    raise nodes.SkipNode


def _is_address(site: str) -> bool:
    return site.startswith(("/", "http:", "https:")) and not Path(site).is_dir()


def _add_script(app: Sphinx) -> None:
    site = app.config.vramscope_site
    if not site:
        raise ExtensionError("vramscope: conf.py must name the viewer's folder or address: vramscope_site")
    # Reported before all pages are built.
    if not _is_address(site) and not Path(app.confdir, site, "viewer.js").is_file():
        folder = os.path.normpath(Path(app.confdir, site))
        raise ExtensionError(f"vramscope: vramscope_site in conf.py is no folder of the viewer: {folder} has no viewer.js")
    address = site.rstrip("/") if _is_address(site) else "vramscope"
    app.add_js_file(f"{address}/viewer.js", type="module")


def _copy_site(app: Sphinx, exception: Exception | None) -> None:
    site = app.config.vramscope_site
    if exception is None and app.builder.format == "html" and not _is_address(site):
        out = Path(app.outdir, "_static", "vramscope")
        # Files of an older viewer have other names.
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(Path(app.confdir, site), out)


def _remove_unnamed(app: Sphinx, exception: Exception | None) -> None:
    """Removes files of earlier builds: a snapshot that was removed from the pages must not be published."""
    folder = Path(app.outdir, _FOLDER)
    if exception is not None or app.builder.format != "html" or not folder.is_dir():
        return
    builder: Any = app.builder
    named: Set[Path] = set()
    # Read from the pages themselves, as not all are written in each build.
    for page in Path(app.outdir).rglob(f"*{builder.out_suffix}"):
        found = re.findall(rb'%s/([0-9a-f]{12}/[^"\\]+)' % _FOLDER.encode(), page.read_bytes())
        named.update(folder / os.fsdecode(unquote_to_bytes(name)) for name in found)
    for inner in folder.iterdir():
        for file in set(inner.iterdir()) - named:
            file.unlink()
        if not any(inner.iterdir()):
            inner.rmdir()


def setup(app: Sphinx) -> Dict[str, Any]:
    """Called by Sphinx."""
    app.add_config_value("vramscope_site", "", "html")
    # Not for users: if it differs from the last build's, Sphinx writes all pages again.
    app.add_config_value("vramscope_build", _build(), "html")
    app.add_directive("vramscope", _Directive)
    others: Dict[str, Any] = {builder: (_skip, None) for builder in ("latex", "text", "man", "texinfo", "gettext")}
    app.add_node(_Viewer, html=(_visit, None), **others)
    app.connect("builder-inited", _add_script)
    app.connect("build-finished", _copy_site)
    app.connect("build-finished", _remove_unnamed)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}
