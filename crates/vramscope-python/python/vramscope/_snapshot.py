"""Snapshots that are open: questions to them, their tables, and their page."""

from __future__ import annotations

import builtins
import html
import json
import os
import pickle
import warnings
from typing import TYPE_CHECKING, Any, BinaryIO, Dict, List, Mapping, Optional, Union, cast

from ._numbers import whole
from ._show import View, shown
from ._vramscope import Opened, SnapshotError, Table, open_bytes, open_file

if TYPE_CHECKING:
    from typing import Literal

    from ._answers import At, Diff, Explanation, Finding, Peak
    from ._widget import Viewer

    GroupBy = Literal[
        "call-site",
        "function",
        "file",
        "module",
        "package",
        "operator",
        "role",
        "age-steps",
        "stream",
        "pool",
        "category",
        "annotation",
        "metadata",
        "compile",
    ]
    """What allocations are grouped by: the frame of the user's code that made them, parts of it, or a property."""

    ViewName = Literal[
        "overview",
        "timeline",
        "segments",
        "map",
        "allocator",
        "flame",
        "table",
        "compare",
        "what-if",
        "facts",
    ]
    """A view of the page."""

    Moment = Union[str, int]
    """A number of events, or a name: ``"peak"``, ``"oom"``, ``"2.5s"``, ``"train_step[-1]:peak"``, ..."""

    Source = Union[
        str, os.PathLike[str], bytes, bytearray, memoryview, Mapping[str, Any], BinaryIO
    ]


class DamageWarning(UserWarning):
    """A snapshot is damaged: the readable part is available, but figures may be wrong."""


def open(source: Source, *, name: Optional[str] = None) -> Snapshot:
    """Reads a memory snapshot.

    A pickle of any torch from 1.13 on, also compressed with gzip or zstd, zipped, as JSON, or inside the HTML of
    torch's plots; files are recognised by their contents. Nothing in a file is ever run. Damage is a ``DamageWarning``.

    Args:
        source: A path, the bytes of a file, a binary file object, or the dict that ``torch.cuda.memory._snapshot()``
            returns, which is pickled for it.
        name: Stands for the file in answers; by default the path, or ``"snapshot"``.

    Raises:
        SnapshotError: It is not a snapshot, or is truncated.
        OSError: The file cannot be read.
    """
    if isinstance(source, (str, os.PathLike)):
        if name is None:
            return _opened(open_file(source))
        with builtins.open(source, "rb") as file:
            return _opened(open_bytes(file.read(), name))
    return _opened(open_bytes(_bytes(source), name or "snapshot"))


def _bytes(source: Union[bytes, bytearray, memoryview, Mapping[str, Any], BinaryIO]) -> bytes:
    if isinstance(source, bytes):
        return source
    if isinstance(source, (bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, Mapping):
        return pickle.dumps(source, protocol=4)
    if hasattr(source, "read"):
        data = source.read()
        if isinstance(data, bytes):
            return data
        raise TypeError("the file must be open for reading bytes: open(path, 'rb')")
    kind = type(source).__name__
    raise TypeError(f"a snapshot is a path, bytes, a binary file or a dict of torch's, not {kind}")


def _opened(opened: Opened) -> Snapshot:
    for line in opened.damage:
        warnings.warn(f"{opened.name}: {line}", DamageWarning, stacklevel=3)
    return Snapshot(opened)


class Snapshot:
    """An open memory snapshot, from ``vramscope.open()``. It never changes, and threads may share it.

    Methods about one device take its number as ``device``; the default is the one with the highest peak, as
    in the page. Answers are dicts with the keys of ``vramscope COMMAND --json``.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._info: Optional[List[Dict[str, Any]]] = None

    @property
    def name(self) -> str:
        """The file's path, or the name given instead."""
        return self._opened.name

    @property
    def damage(self) -> List[str]:
        """The damage in the file, a sentence for each kind; empty if there is none."""
        return self._opened.damage

    @property
    def info(self) -> Dict[str, Any]:
        """About the file: its format, producer, sizes, settings and gaps, as the first part of ``vramscope info``."""
        return self._parts_of_info()[0]

    @property
    def devices(self) -> List[Dict[str, Any]]:
        """About each device, the one with the highest peak first, as the other parts of ``vramscope info``."""
        return self._parts_of_info()[1:]

    @property
    def peaks(self) -> Dict[int, int]:
        """The highest sum of requested bytes live at once, by device."""
        return {part["device"]: part["peak_bytes"] for part in self.devices}

    def _parts_of_info(self) -> List[Dict[str, Any]]:
        if self._info is None:
            self._info = self.ask("info")
        return self._info

    def peak(
        self,
        device: Optional[int] = None,
        *,
        group_by: GroupBy = "call-site",
        depth: int = 1,
        limit: Optional[int] = None,
    ) -> Peak:
        """The live memory at the highest moment.

        Args:
            device: The device; by default the one with the highest peak.
            group_by: How the rows of ``live`` are grouped.
            depth: Frames per group: 1 = the place, 2 = the place and its caller, ...
            limit: Maximum number of rows per table; by default, or with 0, all.
        """
        options = {"device": device, "group_by": group_by, "depth": depth, "limit": limit}
        return cast("Peak", self._one("peak", (), options))

    def at(
        self,
        moment: Moment,
        device: Optional[int] = None,
        *,
        group_by: GroupBy = "call-site",
        depth: int = 1,
        frames: int = 10,
        limit: Optional[int] = None,
    ) -> At:
        """The event at a moment, and the live, reserved and free memory after it.

        Args:
            moment: A number of events, a time since the first event (``"2.5s"``), ``"peak"``, ``"start"``, ``"end"``,
                ``"oom"``, or an annotated range (``"train_step[-1]:peak"``).
            device: The device; by default the one with the highest peak.
            group_by: How the rows of ``live`` are grouped.
            depth: Frames per group.
            frames: Frames of the event's stack, 0 for all.
            limit: Maximum number of rows per table; by default, or with 0, all.
        """
        options = {
            "device": device,
            "group_by": group_by,
            "depth": depth,
            "frames": frames,
            "limit": limit,
        }
        return cast("At", self._one("at", (moment,), options))

    def explain(self, device: Optional[int] = None) -> Explanation:
        """What memory was for, what stands out, and what would help. Roles and phases are inferred."""
        return cast("Explanation", self._one("explain", (), {"device": device}))

    def brief(self, device: Optional[int] = None, *, budget: int = 4096) -> Dict[str, Any]:
        """What failed or peaked, why, where, and what would help, in an answer of at most ``budget`` bytes as JSON.

        For programs and agents: ``causes`` names the class of each cause, ``next`` commands for details,
        and each list gives its total number of entries. Equal snapshots give equal answers.

        Args:
            device: Only this device.
            budget: Maximum size of the answer as JSON, in bytes; at least 1024.
        """
        return self._parts("brief", (), _checked({"device": device, "budget": budget}), [])[0]

    def findings(self, device: Optional[int] = None) -> List[Finding]:
        """What stands out, the worst first: each with its figures, what it may mean, and what to try."""
        return self.explain(device)["findings"]

    def diff(
        self,
        after: Optional[Snapshot] = None,
        *,
        at: Moment = "peak",
        to: Optional[Moment] = None,
        device: Optional[int] = None,
        group_by: GroupBy = "call-site",
        depth: int = 1,
        limit: Optional[int] = None,
    ) -> List[Diff]:
        """What differs between this snapshot and another, or between two moments of this one.

        Args:
            after: The other snapshot; without it, ``to`` names the other moment of this one.
            at: The moment of this snapshot, as in ``at()``.
            to: The moment of the other; by default the same as ``at``.
            device: Only this device.
            group_by: How the rows of ``changes`` are grouped.
            depth: Frames per group.
            limit: Maximum number of rows per table; by default, or with 0, all.

        Returns:
            A dict for each pair of devices: those with the same number, or the only ones.
        """
        options = {
            "at": at,
            "to": to,
            "device": device,
            "group_by": group_by,
            "depth": depth,
            "limit": limit,
        }
        if not isinstance(after, (Snapshot, type(None))):
            raise TypeError(f"the other is a snapshot that vramscope.open() gave, not {after!r}")
        others = [] if after is None else [after]
        return cast("List[Diff]", self._parts("diff", (), _checked(options), others))

    def ask(self, command: str, *arguments: Moment, **options: Any) -> List[Dict[str, Any]]:
        """Runs a command of the command line, and returns the parts of its answer: ``vramscope COMMAND --json``.

        Commands are ``brief``, ``info``, ``explain``, ``peak``, ``at``, ``range``, ``leaks``, ``oom``, ``fragmentation``,
        ``plan``, ``what-if``, ``top``, ``annotations``, ``find``, ``diff`` and ``stats``.

            run.ask("find", "size>100MiB live@peak", limit=10)
            run.ask("what-if", set=["expandable_segments=True"])
            run.ask("leaks", group_by="module")

        Args:
            command: The command's name.
            arguments: The arguments before the file on the command line.
            options: The options, with ``_`` for ``-``. ``True`` is an option without a value, a list repeats an option,
                and ``None`` leaves it out.
        """
        return self._parts(command, arguments, options, [])

    def _one(self, command: str, arguments: Any, options: Dict[str, Any]) -> Dict[str, Any]:
        """The answer about one device."""
        if options["device"] is None:
            options["device"] = self._opened.first_device
        parts = self._parts(command, arguments, _checked(options), [])
        if not parts or parts[0]["device"] is None:
            nothing = "the file holds no segment and no event, so there is nothing to report"
            raise SnapshotError(f"{self.name}: {nothing}")
        return parts[0]

    def _parts(
        self, command: str, arguments: Any, options: Dict[str, Any], others: List[Snapshot]
    ) -> List[Dict[str, Any]]:
        words = [command, *_words(options), "--json", "--", *map(_moment, arguments)]
        answer = self._opened.ask(words, [other._opened for other in others])
        found = json.loads(answer)
        return cast("List[Dict[str, Any]]", found.get("parts", [found]))

    def table(self, name: str, device: Optional[int] = None) -> Table:
        """A table by its name; ``vramscope man exports`` describes the columns of each.

        Args:
            name: ``events``, ``allocations``, ``frames``, ``stacks``, ``annotations``, ``segments`` or ``blocks``.
            device: Only the rows of this device; ``frames`` and ``stacks`` belong to none.
        """
        device = _checked({"device": device})["device"]
        try:
            return self._opened.table(name, device)
        except OverflowError:
            raise SnapshotError(f"{self.name}: there is no device {device}") from None

    def events(self, device: Optional[int] = None) -> Table:
        """A row per recorded event, with ``live_bytes`` and ``reserved_bytes`` after it."""
        return self.table("events", device)

    def allocations(self, device: Optional[int] = None) -> Table:
        """A row per life of an address, those included that began before the recording."""
        return self.table("allocations", device)

    def frames(self) -> Table:
        """A row per distinct frame."""
        return self.table("frames")

    def stacks(self) -> Table:
        """A row per frame of a distinct stack; ``depth`` 0 is the innermost."""
        return self.table("stacks")

    def annotations(self, device: Optional[int] = None) -> Table:
        """A row per named range, with its effect on memory."""
        return self.table("annotations", device)

    def segments(self, device: Optional[int] = None) -> Table:
        """A row per range of memory reserved from the device, from ``alloc_event`` to ``free_event``."""
        return self.table("segments", device)

    def blocks(self, device: Optional[int] = None) -> Table:
        """A row per block of a segment at the end of the recording."""
        return self.table("blocks", device)

    def to_html(
        self,
        path: Union[str, os.PathLike[str], None] = None,
        *,
        view: ViewName = "overview",
        device: Optional[int] = None,
        at: Optional[Moment] = None,
        range: Optional[str] = None,
    ) -> str:
        """The viewer with this snapshot inside, as one HTML document that needs no network.

        Args:
            path: A file to write it to as well; an existing one is replaced when the new one is complete.
            view: The view to open first.
            device: The device to show first, instead of the one with the highest peak.
            at: The cursor's moment, as in ``at()``.
            range: The selected range: ``"A..B"`` of such moments, or an annotation's name.
        """
        options = {"view": view, "device": device, "at": at, "range": range}
        page = self._opened.page(_words(_checked(options)))
        if path is not None:
            _write(os.fspath(path), page)
        return page.decode()

    def show(
        self,
        *,
        height: int = 720,
        view: ViewName = "overview",
        device: Optional[int] = None,
        at: Optional[Moment] = None,
        range: Optional[str] = None,
        widget: Optional[bool] = None,
    ) -> Union[View, Viewer]:
        """The viewer in a notebook: the last line of a cell shows it.

        Tested in JupyterLab and marimo, and in VS Code without widgets; untested in Colab, which shows such outputs too.
        With anywidget (the extra ``notebook``), all cells share one page, and the result's ``place`` is the visible state.
        Without it, each output is a separate page with the whole snapshot, which needs no Python afterwards, as required
        by nbconvert and other exports.

        Args:
            height: The height of the frame, in CSS pixels.
            view: As for ``to_html()``, and the same for ``device``, ``at`` and ``range``.
            widget: Whether to use anywidget; without, if it is installed.
        """
        # Otherwise the error would only appear when the cell shows it.
        height = whole(height, "the height is a number of CSS pixels from 1", 1)
        page = self.to_html(view=view, device=device, at=at, range=range)
        if widget is not False:
            try:
                from ._widget import Viewer

                return Viewer(page, height, self._repr_html_)
            except ImportError as missing:
                if widget:
                    asked = "widget=True needs anywidget: pip install 'vramscope[notebook]'. Without it, show() uses a frame"
                    raise ImportError(asked) from missing
        return View(page, self.name, height)

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, and the timeline as a picture, which exports and GitHub show, too."""
        try:
            picture = self._opened.picture(["--size=900x360"])
        except SnapshotError:
            # There is nothing to draw.
            return html.escape(repr(self))
        return shown(picture, f"{self.name}: {self.devices[0]['verdict']}")

    def __repr__(self) -> str:
        return f"<vramscope.Snapshot {self.name}>"


def _checked(options: Dict[str, Any]) -> Dict[str, Any]:
    """A method's options, with numbers checked: on the command line they could be any word."""
    checked = dict(options)
    for key, value in options.items():
        if value is None:
            continue
        if key in ("device", "depth", "limit", "frames", "budget"):
            checked[key] = whole(value, f"{key} is a whole number from 0", 0, SnapshotError)
        elif key in ("at", "to"):
            checked[key] = _moment(value)
    return checked


def _moment(moment: Moment) -> str:
    """The argument before a file on the command line: a moment or another text."""
    if isinstance(moment, str):
        return moment
    return str(whole(moment, "a moment is a name or a number of events", 0, SnapshotError))


def _words(options: Dict[str, Any]) -> List[str]:
    """Options in the command line's form."""
    words: List[str] = []
    for key, value in options.items():
        option = "--" + key.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                words.append(option)
            elif one is not None and one is not False:
                words.append(f"{option}={one}")
    return words


def _write(path: str, page: bytes) -> None:
    """Writes a file that appears only when it is complete."""
    folder, name = os.path.split(path)
    beside = os.path.join(folder, f".vramscope-{os.getpid()}-{name}")
    try:
        with builtins.open(beside, "wb") as file:
            file.write(page)
        os.replace(beside, path)
    except BaseException as problem:
        try:
            os.unlink(beside)
        except OSError:
            pass
        if isinstance(problem, OSError):
            # The caller only knows the file by its final name.
            raise OSError(problem.errno, problem.strerror, path) from None
        raise
