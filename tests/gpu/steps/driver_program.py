"""Programs that use the driver's own functions, under capture: `driver_program.py MODE WAY OUT.json`. WAY is how functions are
found (`driver.way`). Each writes what it got from the driver.

    all     every kind of memory; all allocations, and CUPTI's records if there are any
    leak    64 MiB that are live when main returns
    oom     4 TiB that the device does not have
    loop    allocates and frees until it is killed
    sums    256 MiB of each kind, with a pause after each
"""

import contextlib
import ctypes
import json
import sys
import time

import driver
from driver import MIB

mode, driver.way, out = sys.argv[1:4]
driver.start()


def write(**answers):
    with open(out, "w") as file:
        json.dump(answers, file)


def array():
    handle, descriptor = ctypes.c_void_p(), (ctypes.c_uint64 * 3)(8192, 4096, 0x20 | 2 << 32)
    driver.call("cuArrayCreate_v2", ctypes.byref(handle), descriptor)


def map_new(size):
    address, handle = driver.reserve(size), driver.physical(size)
    code = driver.map_code(address, size, 0, handle)
    assert code == 0, code
    return address


def graph_of_nodes():
    parameters, node, graph = (ctypes.c_uint64 * 15)(), ctypes.c_void_p(), ctypes.c_void_p()
    properties = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_int))
    properties[0], properties[2], parameters[13] = 1, 1, 2 * MIB
    driver.call("cuGraphCreate", ctypes.byref(graph), 0)
    driver.call("cuGraphAddMemAllocNode", ctypes.byref(node), graph, None, ctypes.c_size_t(0), parameters)
    return parameters[14]


def graph_by_capture():
    stream, graph = driver.stream(), ctypes.c_void_p()
    driver.call("cuStreamBeginCapture_v2", stream, 0)
    address = driver.alloc_async(3 * MIB, stream)
    driver.free_async(address, stream)
    driver.call("cuStreamEndCapture", stream, ctypes.byref(graph))
    return address


def all_kinds():
    did = []

    def note(address, size):
        did.append((address, size))
        return address

    second, own = driver.stream(), driver.new_pool()
    live = [(note(driver.alloc(size), size), False) for size in [777, 5000, 3 << 20, 100 << 20]]
    for turn in range(200):
        size = 1000 + (turn * 7919 << 9) % (8 << 20)
        if turn % 5 == 4:
            address = driver.alloc_from(own, size, second)
        else:
            address = driver.alloc_async(size, second if turn % 3 else None)
        live.append((note(address, size), True))
        if turn % 2:
            address, is_async = live.pop(len(live) // 2)
            driver.free_async(address) if is_async else driver.free(address)
        if turn % 50 == 49:
            driver.synchronise()
    pitched, pitch = ctypes.c_uint64(), ctypes.c_size_t()
    driver.call("cuMemAllocPitch_v2", ctypes.byref(pitched), ctypes.byref(pitch), ctypes.c_size_t(1000), ctypes.c_size_t(300), 4)
    note(pitched.value, pitch.value * 300)
    note(driver.managed(5 * MIB), 5 * MIB)
    note(map_new(20 * MIB), 20 * MIB)
    note(graph_of_nodes(), 2 * MIB)
    note(graph_by_capture(), 3 * MIB)
    array()
    driver.synchronise()
    pools = [driver.default_pool(), own]
    return {"did": did, "reserved": sum(driver.reserved(pool) for pool in pools)}


def run_all():
    seen, listed = {"cupti": None}, None
    with contextlib.ExitStack() as stack:
        import cupti

        try:
            listed = stack.enter_context(cupti.records())
        except (OSError, AttributeError) as error:
            seen["cupti"] = str(error)
        seen |= all_kinds()
    write(records=listed, **seen)


def run_oom():
    held, none = driver.alloc(64 * MIB), ctypes.c_uint64()
    code = driver.result("cuMemAlloc_v2", ctypes.byref(none), ctypes.c_size_t(4 << 40))
    write(code=code, free=driver.memory()["free"])
    driver.free(held)


def run_loop():
    while True:
        driver.free(driver.alloc(3 * MIB))
        driver.free_async(driver.alloc_async(MIB))
        time.sleep(0.0005)


def run_sums():
    own, points = driver.new_pool(), []

    def point(kind):
        # The recorder samples the free memory at most every 100 ms, at an allocation.
        time.sleep(0.12)
        driver.free(driver.alloc(1))
        points.append((kind, time.time_ns() // 1000))

    for _ in range(2):
        point("nothing")
    size = 256 * MIB
    for kind, work in {
        "plain": lambda: driver.alloc(size), "default pool": lambda: driver.alloc_async(size), "own pool": lambda: driver.alloc_from(own, size),
        "mapped": lambda: map_new(size), "array": array, "small": lambda: [driver.alloc(777) for _ in range(20_000)],
    }.items():
        work()
        driver.synchronise()
        point(kind)
    write(points=points)


{"all": run_all, "leak": lambda: driver.alloc(64 * MIB), "oom": run_oom, "loop": run_loop, "sums": run_sums}[mode]()
