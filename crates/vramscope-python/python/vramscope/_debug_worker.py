"""What a rank answers through torch's debug server: its allocator's figures, and a snapshot on request.

torch calls the handlers from its own threads, during the training. They hold Python's lock while they work, and
must not change what the program does. Callers have to know the job's key: torch's worker server listens without a
password, and any web page could post to it.
"""

from __future__ import annotations

import ctypes
import hmac
import json
import os
import pickle
import socket
import sys
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Optional, TypedDict

from . import _record

STATE = "vramscope_state"
DUMP = "vramscope_dump"

_RELAXED = 2
"""``CU_STREAM_CAPTURE_MODE_RELAXED``."""


class DeviceState(TypedDict):
    """The allocator's figures for one device of a rank, in bytes but for counts."""

    device: int
    active_bytes: int
    peak_active_bytes: int
    reserved_bytes: int
    peak_reserved_bytes: int
    retries: int
    """Requests that succeeded only after cached memory was released to the device."""
    ooms: int
    """Requests that failed for lack of memory."""
    free_bytes: Optional[int]
    """Free memory of the device, for all processes; None if unknown."""
    total_bytes: Optional[int]


class RankState(TypedDict):
    """A rank's answer. Devices on which it has no memory are left out."""

    rank: int
    host: str
    pid: int
    time_us: int
    """When it was read, in microseconds since the Unix epoch, by the rank's own clock."""
    is_recording: bool
    """Whether allocations are recorded, so that a snapshot has events."""
    devices: List[DeviceState]


_key = b""
"""The key that a request must contain. Empty until ``register()``; until then nothing is answered."""

_registered = False
"""torch keeps a handler for the life of the process, and refuses a second one of its name."""

_dumping = threading.Lock()
"""Two snapshots at a time would take twice the memory."""


def register(key: str) -> None:
    """Makes this rank answer requests with this key."""
    global _key, _registered
    _key = key.encode()
    if not _registered:
        module = _record._torch()._C._distributed_c10d
        for name, answer in ((STATE, _answer_state), (DUMP, _answer_dump)):
            handler = _handler(answer)
            # torch 2.15 releases a handler after Python has ended, and releasing the last one aborts the process.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(handler))
            module._register_handler(name, handler)
        _registered = True


def state() -> RankState:
    """The allocator's current figures, without its blocks, so that the cost does not depend on how much is allocated."""
    devices: List[DeviceState] = []
    is_recording = False
    torch = sys.modules.get("torch")
    # A query would create a context on the device, which takes hundreds of MB of its memory.
    if torch is not None and torch.cuda.is_initialized():
        is_recording = _record._is_recording("cuda")
        with _beside_captures():
            devices = [one for index in range(torch.cuda.device_count()) for one in _of_device(torch, index)]
    return {
        "rank": _record._rank()[0],
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "time_us": time.time_ns() // 1000,
        "is_recording": is_recording,
        "devices": devices,
    }


def _of_device(torch: Any, index: int) -> List[DeviceState]:
    """The figures of a device, if this process ever had memory of it."""
    stats: Dict[str, Any] = torch.cuda.memory.memory_stats_as_nested_dict(index)
    if not stats:
        return []
    active, reserved = stats["active_bytes"]["all"], stats["reserved_bytes"]["all"]
    if reserved["allocated"] == 0 and reserved["current"] == 0:
        return []
    try:
        free, total = torch.cuda.mem_get_info(index)
    except Exception:
        free = total = None
    return [
        {
            "device": index,
            "active_bytes": active["current"],
            "peak_active_bytes": active["peak"],
            "reserved_bytes": reserved["current"],
            "peak_reserved_bytes": reserved["peak"],
            "retries": stats["num_alloc_retries"],
            "ooms": stats["num_ooms"],
            "free_bytes": free,
            "total_bytes": total,
        }
    ]


@contextmanager
def _beside_captures() -> Iterator[None]:
    """While another thread captures a CUDA graph, calls that the driver considers unsafe would make the capture fail,
    whichever thread makes them. A thread in relaxed mode is exempt; ours only queries figures."""
    try:
        exchange = ctypes.CDLL("libcuda.so.1").cuThreadExchangeStreamCaptureMode
    except (OSError, AttributeError):
        yield
        return
    mode = ctypes.c_int(_RELAXED)
    exchange(ctypes.byref(mode))
    try:
        yield
    finally:
        exchange(ctypes.byref(mode))


def dump(events: bool) -> bytes:
    """A snapshot as torch pickles it: with the recorded events, or only the blocks, which takes far less time.

    Other threads of this process wait while it is made.

    Raises:
        RuntimeError: This process uses no GPU yet.
    """
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        raise RuntimeError("this rank has used no GPU yet")
    memory = torch.cuda.memory
    with _dumping:
        if events:
            return pickle.dumps(memory._snapshot())
        return pickle.dumps({"segments": memory.memory_snapshot(include_traces=False), "device_traces": []})


def _answer_state(_: Any, response: Any) -> None:
    response.set_content(json.dumps(state()), "application/json")


def _answer_dump(request: Any, response: Any) -> None:
    response.set_content(dump(request.get_param("events") != "0"), "application/octet-stream")


def _handler(answer: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """A handler that answers callers who know the key. No exception reaches torch's thread."""

    def handle(request: Any, response: Any) -> None:
        try:
            if not _key or not hmac.compare_digest(request.get_param("key").encode(), _key):
                response.set_content("only this job's front end may ask", "text/plain")
                response.set_status(403)
                return
            answer(request, response)
            response.set_status(200)
        except Exception as problem:
            response.set_content(str(problem), "text/plain")
            response.set_status(500)

    return handle
