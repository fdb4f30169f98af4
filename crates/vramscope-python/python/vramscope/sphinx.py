"""A directive for Sphinx: a picture of a snapshot, and the viewer for whoever clicks it.

In ``conf.py``::

    extensions = ["vramscope.sphinx"]
    vramscope_site = "../dist/site"     # the viewer's folder, which is copied into the built pages, or its address

In a page, with the attributes of the element ``<vramscope-viewer>`` as options::

    .. vramscope:: run.pickle
       :view: map
       :height: 420

The pictures, light and dark, are drawn while the pages are built.
"""

from __future__ import annotations

import hashlib
import html
import os
import posixpath
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List
from urllib.parse import quote

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# What `vramscope plot` draws: all other views have the timeline's picture.
_PICTURED = ("timeline", "segments", "map", "allocator", "flame")
_VIEWS = (*_PICTURED, "overview", "table", "compare", "what-if", "facts")
# Options of the element that are also options of `vramscope plot`.
_PLOTTED = {"device": "--device", "range": "--range", "search": "--filter"}
_FOLDER = "_vramscope"


def _view(argument: str) -> str:
    return str(directives.choice(argument, _VIEWS))


class _Viewer(nodes.General, nodes.Element):
    """A snapshot in a page: its path and the element's attributes."""


class _Directive(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {
        "view": _view,
        **dict.fromkeys(
            ("device", "range", "search", "theme", "loading", "reveal", "controls", "height", "alt"),
            directives.unchanged,
        ),
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
    # Another version may draw another picture.
    drawn = hashlib.sha256(repr((version("vramscope"), command[4:])).encode()).hexdigest()[:12]
    names = {"poster": f"{drawn}-light.svg", "poster-dark": f"{drawn}-dark.svg"}
    for name in names.values():
        if (folder / name).exists():
            continue
        # Under another name until it is whole: pages are written by several processes.
        half = folder / f"{os.getpid()}-{name}"
        theme = name.rsplit("-", 1)[1][: -len(".svg")]
        ran = subprocess.run([*command, "--theme", theme, "-o", str(half)], capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise ExtensionError(f"vramscope: {ran.stderr.strip()}")
        half.replace(folder / name)
    return names


def _visit(self: Any, node: _Viewer) -> None:
    path, options = Path(node["path"]), node["options"]
    # Files of one name may lie in several folders, and change.
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    folder = Path(self.builder.outdir, _FOLDER, digest)
    folder.mkdir(parents=True, exist_ok=True)
    here = posixpath.dirname(self.builder.get_target_uri(self.builder.current_docname))
    base = posixpath.relpath(f"{_FOLDER}/{digest}", here or ".")
    files = {name: f"{base}/{file}" for name, file in _pictures(path, options, folder).items()}
    what = html.escape(options.get("alt", path.name))
    # For whoever runs no scripts, as in a book.
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
    # Told before all pages are built.
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


def setup(app: Sphinx) -> Dict[str, Any]:
    """Called by Sphinx."""
    app.add_config_value("vramscope_site", "", "html")
    app.add_directive("vramscope", _Directive)
    others: Dict[str, Any] = {builder: (_skip, None) for builder in ("latex", "text", "man", "texinfo", "gettext")}
    app.add_node(_Viewer, html=(_visit, None), **others)
    app.connect("builder-inited", _add_script)
    app.connect("build-finished", _copy_site)
    return {"version": version("vramscope"), "parallel_read_safe": True, "parallel_write_safe": True}
