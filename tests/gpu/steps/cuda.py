"""Access to the driver's functions by ctypes, and the output of the steps: one JSON object."""

import ctypes
import json
import sys
import time

SIZES = {"1 KiB": 1 << 10, "3 MiB": 3 << 20, "100 MiB": 100 << 20}
MIB = 1 << 20

# CUpointer_attribute: the attributes queried of each allocation.
ATTRIBUTES = {
    "device_ordinal": (9, ctypes.c_int),
    "range_start": (11, ctypes.c_uint64),
    "range_size": (12, ctypes.c_size_t),
    "pool_handle": (17, ctypes.c_void_p),
    "mapping_size": (18, ctypes.c_size_t),
    "mapping_base": (19, ctypes.c_uint64),
    "memory_block_id": (20, ctypes.c_uint64),
}

# CUmemPool_attribute.
POOL = {"release_threshold": 4, "reserved": 5, "reserved_high": 6, "used": 7, "used_high": 8}

library = ctypes.CDLL("libcuda.so.1")


class Failed(Exception):
    """A call did not succeed."""


def call(name, *arguments):
    """Calls a function of the driver; raises Failed with its result."""
    result = getattr(library, name)(*arguments)
    if result != 0:
        raise Failed(f"{name} returned {result}")


def result(name, *arguments):
    """Calls a function of the driver. Returns its result."""
    return getattr(library, name)(*arguments)


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


def attributes(address):
    """Queries all attributes at once, as the injected library does; if that fails, one by one."""
    values = {name: kind() for name, (_, kind) in ATTRIBUTES.items()}
    numbers = (ctypes.c_int * len(values))(*[number for number, _ in ATTRIBUTES.values()])
    places = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values.values()])
    code = result("cuPointerGetAttributes", len(values), numbers, places, ctypes.c_uint64(address))
    found = {"address": address, "cuPointerGetAttributes": code}
    for name, (number, kind) in ATTRIBUTES.items():
        value = kind()
        single = result("cuPointerGetAttribute", ctypes.byref(value), number, ctypes.c_uint64(address))
        found[name] = value.value if single == 0 else f"error {single}"
        if code == 0 and single == 0 and values[name].value != value.value:
            found[name + "_at_once"] = values[name].value
    return found


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


def parts(**functions):
    """Runs all functions and prints their results. A failure becomes the function's result."""
    answers = {}
    for name, function in functions.items():
        try:
            answers[name] = function()
        except Exception as error:  # Any failure of the driver is a result worth recording.
            answers[name] = f"{type(error).__name__}: {error}"
    json.dump(answers, sys.stdout, indent=1, default=str)
    print()
