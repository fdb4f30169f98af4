"""Figures of the driver's own memory management: `memory.py kinds|sums|pages|neighbours|synchronisations|ends`. Each prints one
JSON object."""

import ctypes
import sys

import cuda
from cuda import MIB

GIB = 1 << 30


def kinds():
    """G2: the library's query for each kind of memory, right after its allocation."""
    own, found = cuda.new_pool(), {}
    for size in [1 << 10, 3 * MIB, 100 * MIB]:
        found[f"plain {size}"] = cuda.attributes(cuda.alloc(size))
        found[f"default pool {size}"] = cuda.attributes(cuda.alloc_async(size))
        found[f"own pool {size}"] = cuda.attributes(cuda.alloc_from(own, size))
    for turn in range(20):
        found[f"small {turn}"] = cuda.attributes(cuda.alloc(777))
    found[f"own pool {GIB}"] = cuda.attributes(cuda.alloc_from(own, GIB))
    address, pitch = ctypes.c_uint64(), ctypes.c_size_t()
    cuda.call("cuMemAllocPitch_v2", ctypes.byref(address), ctypes.byref(pitch), ctypes.c_size_t(1000), ctypes.c_size_t(3000), 4)
    found["pitched"] = cuda.attributes(address.value)
    found["managed"] = cuda.attributes(cuda.managed(5 * MIB))
    for size in [2 * MIB, 20 * MIB]:
        at = cuda.reserve(size)
        assert cuda.map_code(at, size, 0, cuda.physical(size)) == 0
        found[f"mapped {size}"] = cuda.attributes(at)
    parameters, node, graph = (ctypes.c_uint64 * 15)(), ctypes.c_void_p(), ctypes.c_void_p()
    properties = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_int))
    properties[0], properties[2], parameters[13] = 1, 1, 2 * MIB
    cuda.call("cuGraphCreate", ctypes.byref(graph), 0)
    cuda.call("cuGraphAddMemAllocNode", ctypes.byref(node), graph, None, ctypes.c_size_t(0), parameters)
    found["graph node"] = cuda.attributes(parameters[14])
    return found


def chunks(addresses):
    """Distinct mappings of live pool memory: start to size."""
    asked = [cuda.attributes(address) for address in addresses]
    return {one["mapping_base"]: one["mapping_size"] for one in asked if one["result"] == 0}


def sums():
    """G3: mappings of live pool memory against what the pool reserves, and against the device's free memory."""
    pool, moments, live = cuda.default_pool(), [], []
    empty = cuda.memory()["free"]

    def note(what):
        found = chunks(live)
        moments.append({
            "moment": what, "chunks": len(found), "sum": sum(found.values()), "reserved": cuda.reserved(pool), "used": cuda.used(pool),
            "taken": empty - cuda.memory()["free"], "sizes": sorted(found.values()),
        })

    note("empty")
    for size in [1 << 10, 3 * MIB, 100 * MIB, 40 * MIB]:
        live.append(cuda.alloc_async(size))
        note(f"{size} bytes more")
    for _ in range(20):
        live.append(cuda.alloc_async(20 * MIB))
    note("20 x 20 MiB more")
    for address in live[5::2]:
        cuda.free_async(address)
    del live[5::2]
    note("every other freed")
    live.append(cuda.alloc_async(20 * MIB))
    note("one reused")
    cuda.synchronise()
    note("synchronised")
    cuda.call("cuMemPoolTrimTo", pool, ctypes.c_size_t(0))
    note("trimmed")
    return {"moments": moments}


def pages():
    """G5: small allocations share a page, which goes with the last of them."""
    cuda.alloc(1 << 20)
    before = cuda.memory()["free"]
    live = [cuda.alloc(777) for _ in range(20)]
    first = chunks(live)
    for address in live[::2]:
        cuda.free(address)
    rest = chunks(live[1::2])
    for address in live[1::2]:
        cuda.free(address)
    return {"mappings": first, "after half": rest, "left": before - cuda.memory()["free"]}


def neighbours():
    """G6: a mapping does not change when its neighbour goes."""
    a, b, c = (cuda.alloc_async(40 * MIB) for _ in range(3))
    before = cuda.attributes(b)
    cuda.free_async(a)
    cuda.free_async(c)
    cuda.synchronise()
    cuda.call("cuMemPoolTrimTo", cuda.default_pool(), ctypes.c_size_t(0))
    return {"before": before, "after": cuda.attributes(b)}


def synchronisations():
    """G7: which calls make the default pool release memory."""
    pool, found = cuda.default_pool(), {}
    event, host, other = ctypes.c_void_p(), (ctypes.c_char * 8)(), cuda.alloc(MIB)
    cuda.call("cuEventCreate", ctypes.byref(event), 0)

    def copied():
        cuda.result("cuMemcpyDtoH_v2", host, ctypes.c_uint64(other), ctypes.c_size_t(1))

    ways = {
        "nothing": lambda: None,
        "cuStreamQuery": lambda: cuda.result("cuStreamQuery", None),
        "cuEventQuery": lambda: (cuda.result("cuEventRecord", event, None), cuda.result("cuEventQuery", event)),
        "cuMemcpyDtoH": copied,
        "cuMemAlloc": lambda: cuda.alloc(MIB),
        "cuMemFree": lambda: cuda.free(cuda.alloc(3 * MIB)),
        "cuMemAllocAsync": lambda: cuda.free_async(cuda.alloc_async(1 << 10)),
        "cuStreamSynchronize": lambda: cuda.result("cuStreamSynchronize", None),
        "cuCtxSynchronize": lambda: cuda.result("cuCtxSynchronize"),
        "cuEventSynchronize": lambda: (cuda.result("cuEventRecord", event, None), cuda.result("cuEventSynchronize", event)),
        "cuMemPoolTrimTo": lambda: cuda.result("cuMemPoolTrimTo", pool, ctypes.c_size_t(0)),
    }
    for name, way in ways.items():
        live = [cuda.alloc_async(20 * MIB) for _ in range(8)]
        for address in live[:-1]:
            cuda.free_async(address)
        before = cuda.reserved(pool)
        way()
        found[name] = before - cuda.reserved(pool)
        cuda.free_async(live[-1])
        cuda.synchronise()
        cuda.synchronise()
    return found


def ends():
    """G8: what is left after the primary context was reset."""
    pool, free = cuda.default_pool(), cuda.memory()["free"]
    cuda.alloc(256 * MIB)
    plain = cuda.memory()["free"]
    cuda.alloc_async(256 * MIB)
    used = cuda.used(pool)
    pooled = cuda.memory()["free"]
    at = cuda.reserve(256 * MIB)
    assert cuda.map_code(at, 256 * MIB, 0, cuda.physical(256 * MIB)) == 0
    cuda.call("cuDevicePrimaryCtxReset_v2", 0)
    cuda.start()
    return {
        "took": {"plain": free - plain, "pool": plain - pooled}, "used before": used, "used after": cuda.used(pool),
        "left": free - cuda.memory()["free"],
    }


cuda.start()
cuda.tell({function.__name__: function for function in [kinds, sums, pages, neighbours, synchronisations, ends]}[sys.argv[1]]())
