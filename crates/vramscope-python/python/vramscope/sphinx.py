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
import posixpath
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# What `vramscope plot` draws: all other views have the timeline's picture.
_PICTURED = ("timeline", "segments", "map", "allocator", "flame")
_FOLDER = "_vramscope"


class _Viewer(nodes.General, nodes.Element):
    """A snapshot in a page: its path and the element's attributes."""


class _Directive(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {
        name: directives.unchanged
        for name in ("view", "device", "range", "search", "theme", "loading", "reveal", "controls", "height")
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
    names = {"poster": "light", "poster-dark": "dark"}
    for attribute, theme in names.items():
        name = f"{view}-{theme}.svg"
        names[attribute] = name
        if (folder / name).exists():
            continue
        command = [sys.executable, "-m", "vramscope", "plot", str(path), "-o", str(folder / name), "--theme", theme]
        command += ["--view", view] if view in _PICTURED else []
        drawn = subprocess.run([*command, "--size", "900x400"], capture_output=True, text=True, check=False)
        if drawn.returncode != 0:
            raise ExtensionError(f"vramscope: {drawn.stderr.strip()}")
    return names


def _visit(self: Any, node: _Viewer) -> None:
    path, options = Path(node["path"]), node["options"]
    # Files of one name may lie in several folders, and change.
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    folder = Path(self.builder.outdir, _FOLDER, digest)
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, folder / path.name)
    here = posixpath.dirname(self.builder.get_target_uri(self.builder.current_docname))
    base = posixpath.relpath(f"{_FOLDER}/{digest}", here or ".")
    files = {"src": path.name, **_pictures(path, options, folder)}
    attributes = {**{name: f"{base}/{file}" for name, file in files.items()}, **options}
    words = " ".join(f'{name}="{html.escape(value)}"' for name, value in attributes.items())
    # For whoever runs no scripts.
    picture = f'<img src="{attributes["poster"]}" alt="{html.escape(path.name)}">'
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
    address = site.rstrip("/") if _is_address(site) else "vramscope"
    app.add_js_file(f"{address}/viewer.js", type="module")


def _copy_site(app: Sphinx, exception: Exception | None) -> None:
    site = app.config.vramscope_site
    if exception is None and app.builder.format == "html" and not _is_address(site):
        shutil.copytree(Path(app.confdir, site), Path(app.outdir, "_static", "vramscope"), dirs_exist_ok=True)


def setup(app: Sphinx) -> Dict[str, Any]:
    """Called by Sphinx."""
    app.add_config_value("vramscope_site", "", "html")
    app.add_directive("vramscope", _Directive)
    others: Dict[str, Any] = {builder: (_skip, None) for builder in ("latex", "text", "man", "texinfo", "gettext")}
    app.add_node(_Viewer, html=(_visit, None), **others)
    app.connect("builder-inited", _add_script)
    app.connect("build-finished", _copy_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
