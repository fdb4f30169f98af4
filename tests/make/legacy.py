"""Writes snapshots of torch before 2.1 and of other programs by hand, since these versions cannot be run.

    python tests/make/legacy.py          writes tests/fixtures/legacy/

Values follow the schema of those versions: blocks with `history` and no address (1.13, 2.0), segments
without a stream (1.4 to 1.12), torch.xpu's variant, a tool that writes the minimum, addresses beyond
2^63 signed and unsigned, one value of everything that a reader must tolerate. torch-2.0.1/ holds genuine files.
"""

import pathlib
import pickle

import tidy

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "legacy"
MIB = 1 << 20


def frame(name, line=1, filename="/home/user/train.py"):
    return {"filename": filename, "name": name, "line": line}


def torch_1_4():
    """A bare list: no streams, no requested sizes, no stacks."""
    blocks = [{"size": 512, "state": "active_allocated"}, {"size": 2 * MIB - 512, "state": "inactive"}]
    return [
        {"device": 0, "address": 0x7F0000000000, "total_size": 2 * MIB, "allocated_size": 512, "active_size": 512, "segment_type": "small", "blocks": blocks},
        {"device": 1, "address": 0x7F1000000000, "total_size": 20 * MIB, "allocated_size": 0, "active_size": 0, "segment_type": "large", "blocks": [{"size": 20 * MIB, "state": "inactive"}]},
    ]


def torch_1_13():
    """A bare list with `history`: newest tenant first, former tenants merged into the block, one without frames."""
    stack = [frame("forward", 10), frame("main", 3)]
    history = [
        {"addr": 0x7F0000000000, "real_size": 1000, "frames": stack},
        {"addr": 0x7F0000000400, "real_size": 500, "frames": stack},
        {"addr": 0x7F0000000600, "real_size": 70},
    ]
    blocks = [
        {"size": 2048, "state": "active_allocated", "history": history},
        {"size": 1024, "state": "active_pending_free", "history": [{"addr": 0x7F0000000800, "real_size": 900, "frames": []}]},
        {"size": 1024, "state": "inactive", "history": history[1:]},
        {"size": 2 * MIB - 4096, "state": "inactive"},
    ]
    return [{"device": 0, "address": 0x7F0000000000, "total_size": 2 * MIB, "allocated_size": 2048, "active_size": 3072, "stream": 0, "segment_type": "small", "blocks": blocks}]


def torch_2_0():
    """The dict of 2.0: `history` beside requested_size, a trace without times."""
    segments = torch_1_13()
    requested = [1000, 900, 500, 0]
    for block, size in zip(segments[0]["blocks"], requested, strict=True):
        block["requested_size"] = size
    segments[0]["requested_size"] = 1900
    stack = segments[0]["blocks"][0]["history"][0]["frames"]
    trace = [
        {"action": "segment_alloc", "addr": 0x7F0000000000, "size": 2 * MIB, "stream": 0, "frames": stack},
        {"action": "alloc", "addr": 0x7F0000000000, "size": 1000, "stream": 0, "frames": stack},
        {"action": "alloc", "addr": 0x7F0000000800, "size": 900, "stream": 0, "frames": stack},
        {"action": "free_requested", "addr": 0x7F0000000800, "size": 900, "stream": 0, "frames": stack},
        {"action": "oom", "device_free": 1 << 34, "size": 1 << 36, "stream": 0, "frames": stack},
    ]
    return {"segments": segments, "device_traces": [trace, []]}


def xpu():
    """torch.xpu.memory._snapshot() of torch 2.11: streams beyond 2^63, settings of its own."""
    base, stream = 0xFFFF_8000_0000_0000, 0xFFFF_D556_0000_0040
    stack = [frame("step", 7)]
    segment = {
        "device": 0, "address": base, "total_size": 2 * MIB, "allocated_size": 512, "active_size": 512, "requested_size": 300, "stream": stream,
        "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
        "blocks": [
            {"address": base, "size": 512, "requested_size": 300, "state": "active_allocated", "frames": stack},
            {"address": base + 512, "size": 2 * MIB - 512, "requested_size": 0, "state": "inactive", "frames": []},
        ],
    }
    trace = [
        {"action": "segment_alloc", "addr": base, "size": 2 * MIB, "stream": stream, "time_us": 1760000000000000, "frames": stack},
        {"action": "alloc", "addr": base, "size": 300, "stream": stream, "time_us": 1760000000000005, "frames": stack},
    ]
    settings = {"PYTORCH_ALLOC_CONF": "", "expandable_segments": False}
    return {"segments": [segment], "device_traces": [trace], "allocator_settings": settings}


def signed_addresses():
    """The same file with addresses as torch <= 2.3 and the C++ producer write them: signed."""
    snapshot = xpu()

    def signed(value):
        return value - (1 << 64) if value >= 1 << 63 else value

    for segment in snapshot["segments"]:
        segment["address"], segment["stream"] = signed(segment["address"]), signed(segment["stream"])
        for block in segment["blocks"]:
            block["address"] = signed(block["address"])
    for entry in snapshot["device_traces"][0]:
        entry["addr"], entry["stream"] = signed(entry["addr"]), signed(entry["stream"])
    return snapshot


def minimum():
    """The minimum that torch's own tools accept, as another CUDA program would write it."""
    base = 0x7F0000000000
    segment = {"device": 1, "address": base, "total_size": 4096, "blocks": [{"size": 4096, "state": "active_allocated", "requested_size": 4000, "frames": []}]}
    trace = [{"action": "segment_alloc", "addr": base, "size": 4096, "stream": 0}, {"action": "alloc", "addr": base, "size": 4000, "stream": 0}]
    return {"segments": [segment], "device_traces": [[], trace]}


def tolerant():
    """One value of everything that a reader must count or keep without failing."""
    snapshot = xpu()
    trace = snapshot["device_traces"][0]
    trace += [
        {"action": "workspace_snapshot", "addr": 1, "size": 2, "stream": 0, "frames": []},
        {"action": "user_defined", "addr": 3, "size": 4, "stream": 0, "unknown_key": {"deep": [1, [2, (3,)]]}},
        {"action": "free_completed", "addr": 0x1000, "size": 8, "stream": 0, "time_us": 5, "user_metadata": {"a": 1}, "frames": [{"filename": "", "name": "\ud800 lone", "line": -2}]},
    ]
    snapshot["segments"][0]["blocks"][1]["state"] = "active_awaiting_free"
    snapshot["segments"][0]["surprise"] = 1.5
    snapshot["new_top_key"] = [None, True, b"bytes"]
    return snapshot


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for make in (torch_1_4, torch_1_13, torch_2_0, xpu, signed_addresses, minimum, tolerant):
        data = tidy.check_clean(pickle.dumps(make(), protocol=4), make.__name__)
        (FOLDER / f"{make.__name__}.pickle").write_bytes(data)
        print(f"{len(data):8} {make.__name__}.pickle")


if __name__ == "__main__":
    main()
