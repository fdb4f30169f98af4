"""What a driver does where CUDA's documentation leaves it open: the keys of `crates/fakecuda/habits.json`.

`habits.py` runs each group in a process of its own, as a wrong call may spoil a context, and prints one JSON object.
`habits.py GROUP` runs one of them.
"""

import ctypes
import json
import subprocess
import sys

import cuda
from cuda import MIB


def plain():
    tiny = sorted(cuda.alloc(1) for _ in range(20))
    steps = {after - before for before, after in zip(tiny, tiny[1:])}
    found = {"granule_bytes": min(steps), "page_bytes": cuda.granularity()}
    for size in [64 << 10, 128 << 10, 256 << 10, 512 << 10, MIB, 2 * MIB, 4 * MIB]:
        both = [cuda.attributes(cuda.alloc(size)) for _ in range(2)]
        if all(one["mapping_base"] == one["address"] for one in both):
            found["shared_page_below_bytes"] = size
            break
    nothing = ctypes.c_uint64()
    found["code_alloc_of_0"] = cuda.result("cuMemAlloc_v2", ctypes.byref(nothing), ctypes.c_size_t(0))
    address = cuda.alloc(3 * MIB)
    found["code_free_async_of_plain"] = cuda.result("cuMemFreeAsync", ctypes.c_uint64(address), None)
    cuda.synchronise()
    return found


def pools():
    pool = cuda.default_pool()
    before = cuda.memory()["free"]
    small = cuda.alloc_async(1 << 10)
    asked = cuda.attributes(small)
    chunk = cuda.reserved(pool)
    found = {
        "pool_chunk_bytes": chunk, "pool_context_is_null": int(asked["context"] == 0),
        "pool_mapping_is_chunk": int(asked["mapping_size"] == chunk),
    }
    live = [cuda.attributes(cuda.alloc_async(20 * MIB)) for _ in range(6)]
    ends = [one["address"] + 20 * MIB > one["mapping_base"] + one["mapping_size"] for one in live]
    found["pool_block_spans_chunks"] = int(any(ends))
    cuda.free_async(live[0]["address"])
    found["pool_reuses_at_once"] = int(cuda.alloc_async(20 * MIB) == live[0]["address"])
    nothing = ctypes.c_uint64(1)
    found["code_alloc_async_of_0"] = cuda.result("cuMemAllocAsync", ctypes.byref(nothing), ctypes.c_size_t(0), None)
    found["code_free_of_pooled"] = cuda.result("cuMemFree_v2", ctypes.c_uint64(live[1]["address"]))
    assert before > 0
    return found


def trims():
    """Whether a pool with a threshold of 0 releases memory at a query, and then at a synchronisation."""
    pool = cuda.default_pool()
    for address in [cuda.alloc_async(20 * MIB) for _ in range(8)]:
        cuda.free_async(address)
    held = cuda.reserved(pool)
    cuda.result("cuStreamQuery", None)
    queried = cuda.reserved(pool)
    cuda.call("cuStreamSynchronize", None)
    return {"trims_at_query": int(queried < held), "trims_at_synchronise": int(cuda.reserved(pool) < held)}


def mapped():
    page = cuda.granularity()
    at = cuda.reserve(16 * page)
    first, second = cuda.physical(2 * page), cuda.physical(2 * page)
    found = {"code_map_with_offset": cuda.map_code(at, page, page, first)}
    if found["code_map_with_offset"] == 0:
        cuda.unmap_code(at, page)
    found["code_map_of_part"] = cuda.map_code(at, page, 0, first)
    if found["code_map_of_part"] == 0:
        cuda.unmap_code(at, page)
    assert cuda.map_code(at, 2 * page, 0, first) == 0 and cuda.map_code(at + 2 * page, 2 * page, 0, second) == 0
    found["mapped_context_is_null"] = int(cuda.attributes(at)["context"] == 0)
    again = ctypes.c_uint64()
    cuda.call("cuMemRetainAllocationHandle", ctypes.byref(again), ctypes.c_void_p(at))
    found["retained_handle_is_same"] = int(again.value == first)
    cuda.call("cuMemRelease", again)
    found["code_unmap_without_page"] = cuda.unmap_code(at, page // 2)
    found["code_unmap_of_part"] = cuda.unmap_code(at, page)
    found["code_unmap_of_two"] = cuda.unmap_code(at, 4 * page)
    return found


def wrong():
    address = cuda.alloc(3 * MIB)
    return {"code_free_of_inner": cuda.result("cuMemFree_v2", ctypes.c_uint64(address + 512))}


def twice():
    address = cuda.alloc(3 * MIB)
    cuda.free(address)
    return {"code_free_twice": cuda.result("cuMemFree_v2", ctypes.c_uint64(address))}


def reset():
    """What is left of mapped memory and of the default pool's after the primary context was reset."""
    page, most = cuda.granularity(), 512 * MIB
    pool, before = cuda.default_pool(), cuda.memory()["free"]
    cuda.alloc_async(64 * MIB)
    at = cuda.reserve(most)
    assert most % page == 0 and cuda.map_code(at, most, 0, cuda.physical(most)) == 0
    cuda.call("cuDevicePrimaryCtxReset_v2", 0)
    cuda.start()
    left = before - cuda.memory()["free"]
    return {"pool_memory_outlives_context": int(cuda.used(pool) >= 64 * MIB), "mapped_memory_outlives_context": int(left >= most)}


def capture():
    """A query during a capture in the strictest mode, on the capturing thread."""
    old, stream, graph = cuda.alloc(3 * MIB), cuda.stream(), ctypes.c_void_p()
    cuda.call("cuStreamBeginCapture_v2", stream, 0)
    code = cuda.attributes(old)["result"]
    cuda.result("cuStreamEndCapture", stream, ctypes.byref(graph))
    return {"code_query_in_global_capture": code}


def graphs():
    """Whether memory of a graph stays when the graph has ended, until it is trimmed."""
    stream, graph, executable = cuda.stream(), ctypes.c_void_p(), ctypes.c_void_p()
    cuda.call("cuStreamBeginCapture_v2", stream, 0)
    cuda.free_async(cuda.alloc_async(64 * MIB, stream), stream)
    cuda.call("cuStreamEndCapture", stream, ctypes.byref(graph))
    cuda.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
    cuda.call("cuGraphLaunch", executable, stream)
    cuda.synchronise()
    launched = cuda.reserved_by_graphs()
    cuda.call("cuGraphExecDestroy", executable)
    cuda.call("cuGraphDestroy", graph)
    ended = cuda.reserved_by_graphs()
    cuda.call("cuDeviceGraphMemTrim", 0)
    assert launched >= 64 * MIB and cuda.reserved_by_graphs() < launched
    return {"graph_memory_stays": int(ended >= 64 * MIB)}


GROUPS = {function.__name__: function for function in [plain, pools, trims, mapped, wrong, twice, reset, capture, graphs]}


def main():
    if len(sys.argv) > 1:
        cuda.start()
        return cuda.tell(GROUPS[sys.argv[1]]())
    found, failed = {}, {}
    for name in GROUPS:
        run = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, timeout=30)
        try:
            found |= json.loads(run.stdout)
        except ValueError:
            failed[name] = f"exit {run.returncode}: {run.stderr.strip()[-300:]}"
    cuda.tell({"habits": found, "failed": failed})


main()
