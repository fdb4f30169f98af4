"""Checks a trace against the rules of the Trace Event Format: perfetto.py PROGRAM SNAPSHOT TRACE.

Perfetto's own reader is not in any package registry. So this does the same: counters over time,
slices of a thread that are nested, asynchronous slices that begin before they end.
"""

import json
import sys

from figures import check, peaks

KNOWN = {"M", "C", "X", "i", "b", "e"}


def main(program, snapshot, path):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    for event in events:
        assert event["ph"] in KNOWN, event
        assert isinstance(event["name"], str) and isinstance(event["pid"], int) and event["pid"] > 0, event
        assert isinstance(event["ts"], int), event
    named = {event["pid"] for event in events if event["name"] == "process_name"}
    threads = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
    for event in events:
        assert event["pid"] in named
        assert event["ph"] not in "Xi" or (event["pid"], event["tid"]) in threads, event
    for device, part in peaks(program, snapshot).items():
        own = [event for event in events if event["pid"] == device + 1]
        check_counters(own, part)
        check_nesting(own)
        note = next(note for note in trace["otherData"]["devices"] if note["device"] == device)
        check_spans(own, note["allocations_shown"])
        if note["allocations_shown"] == note["allocations"]:
            check_live(own, part)


def check_counters(events, part):
    live = [event for event in events if event["ph"] == "C" and event["name"] == "live"]
    values = [event["args"]["bytes"] for event in live]
    check("highest live", max(values), part["peak_bytes"])
    for name in {event["name"] for event in events if event["ph"] == "C"}:
        times = [event["ts"] for event in events if event["ph"] == "C" and event["name"] == name]
        assert times == sorted(times), name


def check_nesting(events):
    tracks = {}
    for event in events:
        if event["ph"] == "X":
            tracks.setdefault(event["tid"], []).append((event["ts"], -event["dur"]))
    for slices in tracks.values():
        open_ends = []
        for start, duration in sorted(slices):
            end = start - duration
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or end <= open_ends[-1], "slices of a thread overlap"
            open_ends.append(end)


def check_spans(events, shown):
    begun, ended = {}, set()
    for event in events:
        if event["ph"] not in "be":
            continue
        key = (event["name"], event["cat"], event["id2"]["local"])
        if event["ph"] == "b":
            assert key not in begun, key
            begun[key] = event["ts"]
        else:
            assert event["ts"] >= begun[key] and key not in ended, key
            ended.add(key)
    check("allocations shown", len(begun), shown)


def check_live(events, part):
    live = highest = 0
    sizes = {}
    for event in events:
        if event["ph"] == "b":
            sizes[event["id2"]["local"]] = event["args"]["requested_bytes"]
            live += event["args"]["requested_bytes"]
            highest = max(highest, live)
        elif event["ph"] == "e":
            live -= sizes[event["id2"]["local"]]
    check("highest sum of slices", highest, part["peak_bytes"])


main(*sys.argv[1:])
