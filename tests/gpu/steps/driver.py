"""Access to the driver's functions by ctypes, and the output of the steps: one JSON object."""

import ctypes
import json
import sys
import time

MIB = 1 << 20

# CUpointer_attribute: those that the injected library queries (`inject/src/hooks/events.rs`), in its order.
ATTRIBUTES = {
    "device": (9, ctypes.c_int),
    "context": (1, ctypes.c_uint64),
    "pool": (17, ctypes.c_uint64),
    "mapping_base": (19, ctypes.c_uint64),
    "mapping_size": (18, ctypes.c_uint64),
}

# CUmemPool_attribute.
POOL = {"release_threshold": 4, "reserved": 5, "reserved_high": 6, "used": 7, "used_high": 8}

library = ctypes.CDLL("libcuda.so.1")


class Failed(Exception):
    """A call did not succeed."""


# How functions are found: "dlsym", or as the runtime library finds them: "proc", "proc per thread".
way, found_functions = "dlsym", {}


def function(name):
    """A function of the driver."""
    if way == "dlsym":
        return getattr(library, name)
    if name not in found_functions:
        place, status = ctypes.c_void_p(), ctypes.c_int()
        base = name.removesuffix("_v2").encode()
        flags = ctypes.c_uint64(2 if way == "proc per thread" else 0)
        code = library.cuGetProcAddress_v2(base, ctypes.byref(place), 12080, flags, ctypes.byref(status))
        if code != 0 or not place.value:
            raise Failed(f"cuGetProcAddress of {name} returned {code}")
        found_functions[name] = ctypes.CFUNCTYPE(ctypes.c_int)(place.value)
    return found_functions[name]


def call(name, *arguments):
    """Calls a function of the driver; raises Failed with its result."""
    result = function(name)(*arguments)
    if result != 0:
        raise Failed(f"{name} returned {result}")


def result(name, *arguments):
    """Calls a function of the driver. Returns its result."""
    return function(name)(*arguments)


def start():
    """Makes device 0's primary context current. Returns its handle."""
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    return context


def alloc(size):
    address = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
    return address.value


def free(address):
    call("cuMemFree_v2", ctypes.c_uint64(address))


def managed(size):
    address = ctypes.c_uint64()
    call("cuMemAllocManaged", ctypes.byref(address), ctypes.c_size_t(size), 1)
    return address.value


def alloc_async(size, stream=None):
    address = ctypes.c_uint64()
    call("cuMemAllocAsync", ctypes.byref(address), ctypes.c_size_t(size), stream)
    return address.value


def free_async(address, stream=None):
    call("cuMemFreeAsync", ctypes.c_uint64(address), stream)


def stream():
    handle = ctypes.c_void_p()
    call("cuStreamCreate", ctypes.byref(handle), 1)
    return handle


def synchronise():
    call("cuCtxSynchronize")


def default_pool():
    pool = ctypes.c_void_p()
    call("cuDeviceGetDefaultMemPool", ctypes.byref(pool), 0)
    return pool


def pool_figures(pool):
    figures = {}
    for name, number in POOL.items():
        value = ctypes.c_uint64()
        code = result("cuMemPoolGetAttribute", pool, number, ctypes.byref(value))
        figures[name] = value.value if code == 0 else f"error {code}"
    return figures


def reserved_by_graphs():
    """Bytes that graphs hold from device 0 (CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT)."""
    value = ctypes.c_uint64()
    call("cuDeviceGetGraphMemAttribute", 0, 2, ctypes.byref(value))
    return value.value


def attributes(address):
    """The library's own query. Returns the values, and the code as `result`."""
    values = {name: kind() for name, (_, kind) in ATTRIBUTES.items()}
    numbers = (ctypes.c_int * len(values))(*[number for number, _ in ATTRIBUTES.values()])
    places = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values.values()])
    code = result("cuPointerGetAttributes", len(values), numbers, places, ctypes.c_uint64(address))
    return {name: value.value or 0 for name, value in values.items()} | {"result": code, "address": address}


def reserved(pool):
    return pool_figures(pool)["reserved"]


def used(pool):
    return pool_figures(pool)["used"]


class Location(ctypes.Structure):
    """`CUmemPoolProps` and `CUmemAllocationProp`, which begin alike."""

    _fields_ = [("kind", ctypes.c_int), ("handles", ctypes.c_int), ("location", ctypes.c_int), ("id", ctypes.c_int), ("rest", ctypes.c_uint64 * 10)]


def new_pool():
    pool, properties = ctypes.c_void_p(), Location(1, 0, 1, 0)
    call("cuMemPoolCreate", ctypes.byref(pool), ctypes.byref(properties))
    return pool


def alloc_from(pool, size, stream=None):
    address = ctypes.c_uint64()
    call("cuMemAllocFromPoolAsync", ctypes.byref(address), ctypes.c_size_t(size), pool, stream)
    return address.value


def physical(size):
    handle, properties = ctypes.c_uint64(), Location(1, 0, 1, 0)
    call("cuMemCreate", ctypes.byref(handle), ctypes.c_size_t(size), ctypes.byref(properties), ctypes.c_uint64(0))
    return handle.value


def reserve(size):
    address = ctypes.c_uint64()
    call("cuMemAddressReserve", ctypes.byref(address), ctypes.c_size_t(size), ctypes.c_size_t(0), ctypes.c_uint64(0), ctypes.c_uint64(0))
    return address.value


def map_code(address, size, offset, handle):
    return result("cuMemMap", ctypes.c_uint64(address), ctypes.c_size_t(size), ctypes.c_size_t(offset), ctypes.c_uint64(handle), ctypes.c_uint64(0))


def unmap_code(address, size):
    return result("cuMemUnmap", ctypes.c_uint64(address), ctypes.c_size_t(size))


def granularity():
    size, properties = ctypes.c_size_t(), Location(1, 0, 1, 0)
    call("cuMemGetAllocationGranularity", ctypes.byref(size), ctypes.byref(properties), 0)
    return size.value


def memory():
    free_bytes, total_bytes = ctypes.c_size_t(), ctypes.c_size_t()
    call("cuMemGetInfo_v2", ctypes.byref(free_bytes), ctypes.byref(total_bytes))
    return {"free": free_bytes.value, "total": total_bytes.value}


def nanoseconds(function, times=2000):
    """The minimum of five means."""
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter_ns()
        for _ in range(times):
            function()
        best = min(best, (time.perf_counter_ns() - begin) / times)
    return round(best, 1)


def version():
    number = ctypes.c_int()
    call("cuDriverGetVersion", ctypes.byref(number))
    return number.value


def tell(answers):
    """Prints the step's findings."""
    json.dump(answers, sys.stdout, default=str)
    print()
