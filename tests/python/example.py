"""How the package is used, for the type checkers: wrong types here are mistakes in its own."""

from __future__ import annotations

from typing import Dict, List, Optional

import vramscope
from vramscope import debug_server


def largest(path: str) -> Dict[str, int]:
    """The call sites with the most memory at the peak, in bytes."""
    run: vramscope.Snapshot = vramscope.open(path)
    peak = run.peak(group_by="module", depth=2, limit=5)
    return {group["group"]: group["bytes"] for group in peak["live"]}


def explain(path: str) -> List[str]:
    """What stands out, in words."""
    run = vramscope.open(path, name="run")
    lines = [f"{finding['severity']}: {finding['title']}" for finding in run.findings()]
    reserved: Optional[int] = run.at("oom")["reserved_bytes"]
    if reserved is not None:
        lines.append(f"{reserved:,} bytes were reserved")
    for difference in run.diff(at="start", to="end"):
        lines += [f"{change['change_bytes']:+d} {change['group']}" for change in difference["changes"]]
    rows: int = len(run.events(device=0))
    names: List[str] = run.allocations().column_names
    page: str = run.to_html("report.html", view="timeline")
    return [*lines, f"{rows} {names} {len(page)}"]


def train(steps: int) -> None:
    """Records a loop."""
    with vramscope.record("iteration_{step}/rank{rank}.pickle", every=10, on_oom="oom_{rank}.pickle") as recording:
        for _ in range(steps):
            number: int = recording.step()
            if number == 1:
                print(recording.dump("first.pickle").stat().st_size)
    print(recording.paths, vramscope.__version__.upper())


def serve() -> None:
    """Shows all ranks of a job."""
    try:
        address: Optional[str] = debug_server.start(25999, hosts=["node1"], worker_host="::")
    except debug_server.UnavailableError as why:
        print(why)
        return
    if address is not None:
        print(address.upper(), len(debug_server.handlers(viewer="https://example.org/vramscope/")))
    debug_server.stop()
