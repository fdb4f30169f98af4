"""Pointer attributes of each kind of allocation: is its mapping (18, 19) the pool's chunk, and how large is it?"""

import ctypes

import cuda


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class AllocationProp(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", Location),
        ("win32", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    ]


def plain():
    return {name: cuda.attributes(cuda.alloc(size)) for name, size in cuda.SIZES.items()}


def packed():
    """Twenty small allocations, before and after every other one is freed."""
    all = [cuda.alloc(777) for _ in range(20)]
    before = [cuda.attributes(address)["mapping_base"] for address in all]
    for address in all[::2]:
        cuda.free(address)
    after = [cuda.attributes(address) for address in all[1::2]]
    return {"mappings_before": sorted(set(map(str, before))), "first_after": after[0]}


def pool():
    pool = cuda.default_pool()
    steps = [{"before": cuda.pool_figures(pool)}]
    live = {}
    for name, size in cuda.SIZES.items():
        live[name] = cuda.alloc_async(size)
        steps.append({name: cuda.attributes(live[name]), "pool": cuda.pool_figures(pool)})
    cuda.free_async(live["3 MiB"])
    steps.append({"neighbour freed": cuda.attributes(live["1 KiB"])})
    again = cuda.alloc_async(2 * cuda.MIB)
    steps.append({"2 MiB again": cuda.attributes(again)})
    return steps


def managed():
    return {name: cuda.attributes(cuda.managed(size)) for name, size in cuda.SIZES.items() if size < 50 * cuda.MIB}


def pitched():
    address, pitch = ctypes.c_uint64(), ctypes.c_size_t()
    sizes = [ctypes.c_size_t(1000), ctypes.c_size_t(3000)]
    cuda.call("cuMemAllocPitch_v2", ctypes.byref(address), ctypes.byref(pitch), *sizes, 4)
    return {"pitch": pitch.value, **cuda.attributes(address.value)}


def virtual():
    prop = AllocationProp(type=1, location=Location(1, 0))
    granularity = ctypes.c_size_t()
    cuda.call("cuMemGetAllocationGranularity", ctypes.byref(granularity), ctypes.byref(prop), 0)
    size = ctypes.c_size_t(max(granularity.value, 2 * cuda.MIB))
    base, handle = ctypes.c_uint64(), ctypes.c_uint64()
    reserved = ctypes.c_size_t(4 * size.value)
    cuda.call("cuMemAddressReserve", ctypes.byref(base), reserved, ctypes.c_size_t(0), ctypes.c_uint64(0), ctypes.c_uint64(0))
    cuda.call("cuMemCreate", ctypes.byref(handle), size, ctypes.byref(prop), ctypes.c_uint64(0))
    cuda.call("cuMemMap", base, size, ctypes.c_size_t(0), handle, ctypes.c_uint64(0))
    return {"granularity": granularity.value, **cuda.attributes(base.value)}


def after_free():
    """Documented as undefined: records what happens."""
    address = cuda.alloc(3 * cuda.MIB)
    cuda.free(address)
    return cuda.attributes(address)


cuda.start()
cuda.parts(plain=plain, packed=packed, pool=pool, managed=managed, pitched=pitched, virtual=virtual, after_free=after_free)
