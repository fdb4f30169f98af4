"""Reads snapshots and raw logs, and reports what is wrong with a capture."""

import pickle
import struct
from collections import Counter

CALLS = {1: "cuMemAlloc", 4: "cuMemAllocAsync", 5: "cuMemAllocFromPoolAsync", 9: "cuGraphAddMemAllocNode", 21: "cuMemFreeAsync"}
CAPTURING, FREE_FAILED, PER_THREAD_STREAM, NOT_OWNED = 1, 2, 4, 8
HEADER_BYTES, EVENT = 4096, struct.Struct("<8Q3IhBB")
# Notes that only a wrong or incomplete recording has.
BAD_NOTES = [
    "not seen being allocated", "whose free is missing", "cannot have happened", "does not know", "was not finished",
    "were not finished", "hold no records", "holds no records",
]


def read(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def address(number):
    return number % (1 << 64)


def events(snapshot, *actions):
    return [event for trace in snapshot["device_traces"] for event in trace if event["action"] in actions]


def allocated(snapshot):
    """How often each (address, bytes) was allocated on any device."""
    return Counter((address(event["addr"]), event["size"]) for event in events(snapshot, "alloc"))


def segments(snapshot):
    return {(address(segment["address"]), segment["total_size"]) for segment in snapshot["segments"]}


def held_by_pools(snapshot):
    """Memory held by pools at each query of the driver: (time in µs, bytes). Without the memory of graphs."""
    samples = [sample for sample in snapshot["capture"]["memory"] if "pool_reserved_bytes" in sample]
    return [(it["time_us"], it["pool_reserved_bytes"] - it.get("graph_reserved_bytes", 0)) for it in samples]


def merged(ranges):
    """Ranges as (start, bytes), with neighbours joined."""
    whole = []
    for start, size in sorted(ranges):
        if whole and whole[-1][0] + whole[-1][1] == start:
            whole[-1] = (whole[-1][0], whole[-1][1] + size)
        else:
            whole.append((start, size))
    return set(whole)


def live(snapshot):
    """Bytes requested by each live allocation, by address."""
    found = {}
    for segment in snapshot["segments"]:
        at = address(segment["address"])
        for block in segment["blocks"]:
            start = address(block.get("address", at))
            if block["state"] != "inactive":
                found[start] = block.get("requested_size", block["size"])
            at = start + block["size"]
    return found


def log_events(path):
    """The events of a raw log as dicts, and the bytes outside records."""
    found, lost = [], 0
    with open(path, "rb") as file:
        head = file.read(HEADER_BYTES)
        end = struct.unpack_from("<Q", head, 32)[0]
        data = file.read(max(0, end - HEADER_BYTES))
    at = 0
    while at + 8 <= len(data):
        size, kind, _, check = struct.unpack_from("<IBBH", data, at)
        wanted = (((at + HEADER_BYTES) >> 3) * 0x9E3779B97F4A7C15 % (1 << 64) >> 48) | 1
        if check != wanted:
            lost, at = lost + 8, at + 8
            continue
        if kind == 4 and size >= EVENT.size:
            fields = EVENT.unpack_from(data, at + 8)
            names = ["time_ns", "address", "size", "stream", "context", "pool", "mapping_base", "mapping_bytes", "stack", "thread",
                     "result", "device", "call", "flags"]
            found.append(dict(zip(names, fields)))
        at += (8 + size + 7) // 8 * 8
    return found, lost


def state_of(path):
    """State (0 running, 1 ended, 2 failed) and dropped records in the header of a raw log."""
    with open(path, "rb") as file:
        head = file.read(HEADER_BYTES)
    return {"state": struct.unpack_from("<I", head, 12)[0], "dropped": struct.unpack_from("<Q", head, 40)[0]}


def problems(run, code=0, logs=1):
    """What is wrong with a capture that should have ended normally, as a list of words."""
    wrong = []
    if run["code"] != code:
        said = " | ".join(run["errors"].strip().splitlines()[-3:])
        wrong.append(f"exit {run['code']} instead of {code}: {said[-300:]}")
    if len(run["logs"]) != logs or len(run["snapshots"]) != logs:
        wrong.append(f"{len(run['logs'])} logs and {len(run['snapshots'])} snapshots instead of {logs}")
    for path in run["logs"]:
        state = state_of(path)
        if state["state"] != 1 or state["dropped"]:
            wrong.append(f"log: {state}")
        lost = log_events(path)[1]
        if lost:
            wrong.append(f"{lost} bytes of the log are no records")
    for path in run["snapshots"]:
        notes = read(path)["capture"]["notes"]
        wrong += [note for note in notes if any(bad in note for bad in BAD_NOTES)]
    return wrong


def difference(theirs, ours):
    """What is missing on either side of two counters, as text: empty if they are equal."""
    missing, extra = theirs - ours, ours - theirs
    words = []
    for name, of in [("missing", missing), ("extra", extra)]:
        if of:
            some = ", ".join(f"{start:#x}+{size}" for start, size in list(of)[:3])
            words.append(f"{sum(of.values())} {name} ({some})")
    return "; ".join(words)


def named_stacks(snapshot):
    """Allocations, and how many of them have at least three frames with names."""
    found = events(snapshot, "alloc")
    good = [event for event in found if sum(not frame["name"].startswith(("0x", "??")) for frame in event.get("frames", [])) >= 3]
    return len(found), len(good)
