"""Figures of the driver's own memory management: `memory.py kinds|sums|pages|neighbours|synchronisations|ends`. Each prints one
JSON object."""

import ctypes
import sys

import driver
from driver import MIB

GIB = 1 << 30


def kinds():
    """G2: the library's query for each kind of memory, right after its allocation."""
    own, found = driver.new_pool(), {}
    for size in [1 << 10, 3 * MIB, 100 * MIB]:
        found[f"plain {size}"] = driver.attributes(driver.alloc(size))
        found[f"default pool {size}"] = driver.attributes(driver.alloc_async(size))
        found[f"own pool {size}"] = driver.attributes(driver.alloc_from(own, size))
    for turn in range(20):
        found[f"small {turn}"] = driver.attributes(driver.alloc(777))
    found[f"own pool {GIB}"] = driver.attributes(driver.alloc_from(own, GIB))
    address, pitch = ctypes.c_uint64(), ctypes.c_size_t()
    driver.call("cuMemAllocPitch_v2", ctypes.byref(address), ctypes.byref(pitch), ctypes.c_size_t(1000), ctypes.c_size_t(3000), 4)
    found["pitched"] = driver.attributes(address.value)
    found["managed"] = driver.attributes(driver.managed(5 * MIB))
    for size in [2 * MIB, 20 * MIB]:
        at = driver.reserve(size)
        assert driver.map_code(at, size, 0, driver.physical(size)) == 0
        found[f"mapped {size}"] = driver.attributes(at)
    parameters, node, graph = (ctypes.c_uint64 * 15)(), ctypes.c_void_p(), ctypes.c_void_p()
    properties = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_int))
    properties[0], properties[2], parameters[13] = 1, 1, 2 * MIB
    driver.call("cuGraphCreate", ctypes.byref(graph), 0)
    driver.call("cuGraphAddMemAllocNode", ctypes.byref(node), graph, None, ctypes.c_size_t(0), parameters)
    found["graph node"] = driver.attributes(parameters[14])
    executable = ctypes.c_void_p()
    driver.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
    driver.call("cuGraphLaunch", executable, None)
    driver.synchronise()
    found["launched graph"] = driver.attributes(parameters[14])
    return found


def chunks(blocks):
    """Distinct mappings of live memory, (address, bytes): start to size. The driver reports the one in which a block
    begins; the following ones are assumed to be as large, as in the recorder's `space/chunks.rs`."""
    found = {}
    for address, size in blocks:
        one = driver.attributes(address)
        if one["result"] == 0 and one["mapping_size"]:
            for start in range(one["mapping_base"], address + size, one["mapping_size"]):
                found[start] = one["mapping_size"]
    return found


def sums():
    """G3: mappings of live pool memory compared with the pool's reserved memory, and with the device's free memory."""
    pool, moments, live = driver.default_pool(), [], []
    empty = driver.memory()["free"]

    def note(what):
        found = chunks(live)
        moments.append({
            "moment": what, "chunks": len(found), "sum": sum(found.values()), "reserved": driver.reserved(pool), "used": driver.used(pool),
            "taken": empty - driver.memory()["free"], "sizes": sorted(found.values()),
        })

    note("empty")
    def more(size):
        live.append((driver.alloc_async(size), size))

    for size in [1 << 10, 3 * MIB, 100 * MIB, 40 * MIB]:
        more(size)
        note(f"{size} bytes more")
    for _ in range(20):
        more(20 * MIB)
    note("20 x 20 MiB more")
    for address, _ in live[5::2]:
        driver.free_async(address)
    del live[5::2]
    note("every other freed")
    more(20 * MIB)
    note("one reused")
    driver.synchronise()
    note("synchronised")
    driver.call("cuMemPoolTrimTo", pool, ctypes.c_size_t(0))
    note("trimmed")
    return {"moments": moments}


def pages():
    """G5: small allocations share a page, which is unmapped with the last of them."""
    driver.alloc(1 << 20)
    before = driver.memory()["free"]
    live = [(driver.alloc(777), 777) for _ in range(20)]
    first = chunks(live)
    for address, _ in live[::2]:
        driver.free(address)
    rest = chunks(live[1::2])
    for address, _ in live[1::2]:
        driver.free(address)
    return {"mappings": first, "after half": rest, "left": before - driver.memory()["free"]}


def neighbours():
    """G6: a mapping does not change when its neighbour is removed."""
    a, b, c = (driver.alloc_async(40 * MIB) for _ in range(3))
    before = driver.attributes(b)
    driver.free_async(a)
    driver.free_async(c)
    driver.synchronise()
    driver.call("cuMemPoolTrimTo", driver.default_pool(), ctypes.c_size_t(0))
    return {"before": before, "after": driver.attributes(b)}


def synchronisations():
    """G7: which calls make the default pool release memory."""
    pool, found = driver.default_pool(), {}
    event, host, other = ctypes.c_void_p(), (ctypes.c_char * 8)(), driver.alloc(MIB)
    driver.call("cuEventCreate", ctypes.byref(event), 0)

    def copied():
        driver.result("cuMemcpyDtoH_v2", host, ctypes.c_uint64(other), ctypes.c_size_t(1))

    ways = {
        "nothing": lambda: None,
        "cuStreamQuery": lambda: driver.result("cuStreamQuery", None),
        "cuEventQuery": lambda: (driver.result("cuEventRecord", event, None), driver.result("cuEventQuery", event)),
        "cuMemcpyDtoH": copied,
        "cuMemAlloc": lambda: driver.alloc(MIB),
        "cuMemFree": lambda: driver.free(driver.alloc(3 * MIB)),
        "cuMemAllocAsync": lambda: driver.free_async(driver.alloc_async(1 << 10)),
        "cuStreamSynchronize": lambda: driver.result("cuStreamSynchronize", None),
        "cuCtxSynchronize": lambda: driver.result("cuCtxSynchronize"),
        "cuEventSynchronize": lambda: (driver.result("cuEventRecord", event, None), driver.result("cuEventSynchronize", event)),
        "cuMemPoolTrimTo": lambda: driver.result("cuMemPoolTrimTo", pool, ctypes.c_size_t(0)),
    }
    for name, way in ways.items():
        live = [driver.alloc_async(20 * MIB) for _ in range(8)]
        for address in live[:-1]:
            driver.free_async(address)
        before = driver.reserved(pool)
        way()
        found[name] = before - driver.reserved(pool)
        driver.free_async(live[-1])
        driver.synchronise()
        driver.synchronise()
    return found


def ends():
    """G8: what is left after the primary context was reset."""
    pool, free = driver.default_pool(), driver.memory()["free"]
    driver.alloc(256 * MIB)
    plain = driver.memory()["free"]
    driver.alloc_async(256 * MIB)
    used = driver.used(pool)
    pooled = driver.memory()["free"]
    at = driver.reserve(256 * MIB)
    assert driver.map_code(at, 256 * MIB, 0, driver.physical(256 * MIB)) == 0
    driver.call("cuDevicePrimaryCtxReset_v2", 0)
    driver.start()
    return {
        "took": {"plain": free - plain, "pool": plain - pooled}, "used before": used, "used after": driver.used(pool),
        "left": free - driver.memory()["free"],
    }


driver.start()
driver.tell({function.__name__: function for function in [kinds, sums, pages, neighbours, synchronisations, ends]}[sys.argv[1]]())
