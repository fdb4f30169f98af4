"""A driver's behaviour where CUDA's documentation leaves it open: the keys of `crates/fakecuda/habits.json`.

`habits.py` runs each group in a separate process, as a wrong call may corrupt a context, and prints one JSON object.
`habits.py GROUP` runs one of them.
"""

import ctypes
import json
import subprocess
import sys

import driver
from driver import MIB


def plain():
    tiny = sorted(driver.alloc(1) for _ in range(20))
    steps = {after - before for before, after in zip(tiny, tiny[1:])}
    found = {"granule_bytes": min(steps), "page_bytes": driver.granularity()}
    for size in [64 << 10, 128 << 10, 256 << 10, 512 << 10, MIB, 2 * MIB, 4 * MIB]:
        both = [driver.attributes(driver.alloc(size)) for _ in range(2)]
        if all(one["mapping_base"] == one["address"] for one in both):
            found["shared_page_below_bytes"] = size
            break
    nothing = ctypes.c_uint64()
    found["code_alloc_of_0"] = driver.result("cuMemAlloc_v2", ctypes.byref(nothing), ctypes.c_size_t(0))
    address = driver.alloc(3 * MIB)
    found["code_free_async_of_plain"] = driver.result("cuMemFreeAsync", ctypes.c_uint64(address), None)
    driver.synchronise()
    return found


def pools():
    pool = driver.default_pool()
    before = driver.memory()["free"]
    small = driver.alloc_async(1 << 10)
    asked = driver.attributes(small)
    chunk = driver.reserved(pool)
    found = {
        "pool_chunk_bytes": chunk, "pool_context_is_null": int(asked["context"] == 0),
        "pool_mapping_is_chunk": int(asked["mapping_size"] == chunk),
    }
    live = [driver.attributes(driver.alloc_async(20 * MIB)) for _ in range(6)]
    ends = [one["address"] + 20 * MIB > one["mapping_base"] + one["mapping_size"] for one in live]
    found["pool_block_spans_chunks"] = int(any(ends))
    driver.free_async(live[0]["address"])
    found["pool_reuses_at_once"] = int(driver.alloc_async(20 * MIB) == live[0]["address"])
    nothing = ctypes.c_uint64(1)
    found["code_alloc_async_of_0"] = driver.result("cuMemAllocAsync", ctypes.byref(nothing), ctypes.c_size_t(0), None)
    found["code_free_of_pooled"] = driver.result("cuMemFree_v2", ctypes.c_uint64(live[1]["address"]))
    assert before > 0
    return found


def trims():
    """Whether a pool with a threshold of 0 releases memory at a query, and then at a synchronisation."""
    pool = driver.default_pool()
    for address in [driver.alloc_async(20 * MIB) for _ in range(8)]:
        driver.free_async(address)
    held = driver.reserved(pool)
    driver.result("cuStreamQuery", None)
    queried = driver.reserved(pool)
    driver.call("cuStreamSynchronize", None)
    return {"trims_at_query": int(queried < held), "trims_at_synchronise": int(driver.reserved(pool) < held)}


def mapped():
    page = driver.granularity()
    at = driver.reserve(16 * page)
    first, second = driver.physical(2 * page), driver.physical(2 * page)
    found = {"code_map_with_offset": driver.map_code(at, page, page, first)}
    if found["code_map_with_offset"] == 0:
        driver.unmap_code(at, page)
    found["code_map_of_part"] = driver.map_code(at, page, 0, first)
    if found["code_map_of_part"] == 0:
        driver.unmap_code(at, page)
    assert driver.map_code(at, 2 * page, 0, first) == 0 and driver.map_code(at + 2 * page, 2 * page, 0, second) == 0
    found["mapped_context_is_null"] = int(driver.attributes(at)["context"] == 0)
    again = ctypes.c_uint64()
    driver.call("cuMemRetainAllocationHandle", ctypes.byref(again), ctypes.c_void_p(at))
    found["retained_handle_is_same"] = int(again.value == first)
    driver.call("cuMemRelease", again)
    found["code_unmap_without_page"] = driver.unmap_code(at, page // 2)
    found["code_unmap_of_part"] = driver.unmap_code(at, page)
    found["code_unmap_of_two"] = driver.unmap_code(at, 4 * page)
    return found


def wrong():
    address = driver.alloc(3 * MIB)
    return {"code_free_of_inner": driver.result("cuMemFree_v2", ctypes.c_uint64(address + 512))}


def twice():
    address = driver.alloc(3 * MIB)
    driver.free(address)
    return {"code_free_twice": driver.result("cuMemFree_v2", ctypes.c_uint64(address))}


def reset():
    """What is left of mapped memory and of the default pool after the primary context was reset."""
    page, most = driver.granularity(), 512 * MIB
    pool, before = driver.default_pool(), driver.memory()["free"]
    driver.alloc_async(64 * MIB)
    at = driver.reserve(most)
    assert most % page == 0 and driver.map_code(at, most, 0, driver.physical(most)) == 0
    driver.call("cuDevicePrimaryCtxReset_v2", 0)
    driver.start()
    left = before - driver.memory()["free"]
    return {"pool_memory_outlives_context": int(driver.used(pool) >= 64 * MIB), "mapped_memory_outlives_context": int(left >= most)}


def capture():
    """A query during a capture in the strictest mode, on the capturing thread."""
    old, stream, graph = driver.alloc(3 * MIB), driver.stream(), ctypes.c_void_p()
    driver.call("cuStreamBeginCapture_v2", stream, 0)
    code = driver.attributes(old)["result"]
    driver.result("cuStreamEndCapture", stream, ctypes.byref(graph))
    return {"code_query_in_global_capture": code}


def graphs():
    """Whether memory of a graph stays when the graph has ended, until it is trimmed."""
    stream, graph, executable = driver.stream(), ctypes.c_void_p(), ctypes.c_void_p()
    driver.call("cuStreamBeginCapture_v2", stream, 0)
    driver.free_async(driver.alloc_async(64 * MIB, stream), stream)
    driver.call("cuStreamEndCapture", stream, ctypes.byref(graph))
    driver.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
    driver.call("cuGraphLaunch", executable, stream)
    driver.synchronise()
    launched = driver.reserved_by_graphs()
    driver.call("cuGraphExecDestroy", executable)
    driver.call("cuGraphDestroy", graph)
    ended = driver.reserved_by_graphs()
    driver.call("cuDeviceGraphMemTrim", 0)
    assert launched >= 64 * MIB and driver.reserved_by_graphs() < launched
    return {"graph_memory_stays": int(ended >= 64 * MIB)}


GROUPS = {function.__name__: function for function in [plain, pools, trims, mapped, wrong, twice, reset, capture, graphs]}


def main():
    if len(sys.argv) > 1:
        driver.start()
        return driver.tell(GROUPS[sys.argv[1]]())
    found, failed = {}, {}
    for name in GROUPS:
        run = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, timeout=30)
        try:
            found |= json.loads(run.stdout)
        except ValueError:
            failed[name] = f"exit {run.returncode}: {run.stderr.strip()[-300:]}"
    driver.tell({"habits": found, "failed": failed})


main()
