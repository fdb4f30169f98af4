"""The types of answers, as printed by ``vramscope COMMAND --json``; ``vramscope man json`` describes each key.

New keys may appear at any time. ``None`` stands for unknown. Keys end with their unit: ``_bytes``, ``_us``
(microseconds; ``time_us`` since the Unix epoch), ``_share`` (0 to 1). A moment is a number of events.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, TypedDict


class _About(TypedDict):
    file: str
    device: Optional[int]


class Part(_About, total=False):
    """Common to all answers: the subject and, if there are any, notes and damage in the file."""

    notes: List[str]
    damage: List[Dict[str, Any]]


class Group(TypedDict):
    """Live memory of a group of allocations, by default those of one call site."""

    bytes: int
    share: float
    allocations: int
    largest_bytes: int
    operators: Optional[str]
    group: str


class Peak(Part):
    """The live memory at the highest moment: ``vramscope peak``."""

    peak_bytes: int
    peak_moment: int
    peak_time_us: Optional[int]
    reserved_bytes: Optional[int]
    live: List[Group]


class Frame(TypedDict):
    """A line of a stack, the innermost first."""

    frame: str


class SegmentGroup(TypedDict):
    """Segments of one pool, stream and size class."""

    reserved_bytes: int
    allocated_bytes: int
    pending_bytes: int
    free_bytes: int
    largest_free_bytes: int
    rounding_bytes: int
    segments: int
    empty_segments: int
    kind: str


class Around(TypedDict):
    """An annotated range that a moment lies in."""

    from_moment: int
    to_moment: int
    kind: str
    name: str


class _Event(Part, total=False):
    event_action: str
    event_bytes: int
    event_address: Optional[int]
    event_allocation: Optional[str]
    event_device_free_bytes: Optional[int]
    event_stream: str
    event_call_site: str
    event_operator: Optional[str]
    live_change_bytes: int
    reserved_change_bytes: Optional[int]
    stack: List[Frame]
    segments: List[SegmentGroup]


class At(_Event):
    """The event at a moment, and the memory after it: ``vramscope at``.

    Moment 0 has no event, and an event may have no stack. ``segments`` exists if the file has segments.
    """

    moment: int
    time_us: Optional[int]
    live_bytes: Optional[int]
    reserved_bytes: Optional[int]
    pending_bytes: Optional[int]
    free_bytes: Optional[int]
    largest_free_bytes: Optional[int]
    live: List[Group]
    around: List[Around]


# "try" is a Python keyword, which the other form of the declaration cannot have as a key.
Finding = TypedDict(
    "Finding",
    {
        "severity": str,
        "kind": str,
        "title": str,
        "bytes": int,
        "seen": str,
        "may_mean": str,
        "try": List[str],
        "setting": Optional[str],
    },
)
Finding.__doc__ = "Something that stands out, with its figures, what it may mean and what to try."


class Phase(TypedDict):
    """The peak of an inferred phase."""

    peak_bytes: int
    peak_moment: int
    phase: str


class Explanation(Part):
    """What memory was for, what stands out, and what would help: ``vramscope explain``."""

    verdict: str
    peak_bytes: int
    made_of: Optional[str]
    findings: List[Finding]
    phases: List[Phase]


class Change(TypedDict):
    """A group that differs between two sides."""

    change_bytes: int
    change_share: Optional[float]
    before_bytes: int
    after_bytes: int
    change_allocations: int
    group: str


class Figure(TypedDict):
    """A figure that differs between two sides: bytes, a count, or microseconds for ``duration``."""

    change: Optional[int]
    before: Optional[int]
    after: Optional[int]
    figure: str


class SettingChange(TypedDict):
    """A setting of the allocator that differs between two sides."""

    setting: str
    before: Optional[str]
    after: Optional[str]


class Diff(Part):
    """What differs between two sides: ``vramscope diff``."""

    headline: str
    before_bytes: int
    after_bytes: int
    change_bytes: int
    change_share: Optional[float]
    new: int
    gone: int
    changed: int
    unchanged: int
    changes: List[Change]
    figures: List[Figure]
    settings: List[SettingChange]
