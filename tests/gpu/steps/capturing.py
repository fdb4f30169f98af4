"""G10: queries during a capture, in each mode, from the capturing thread and another, bare and in a relaxed exchange."""

import ctypes
import threading

import driver

MODES = {"global": 0, "thread local": 1, "relaxed": 2}


def main():
    driver.start()
    old, pool, context = driver.alloc(3 * driver.MIB), driver.default_pool(), ctypes.c_void_p()
    driver.call("cuCtxGetCurrent", ctypes.byref(context))
    driver.alloc_async(driver.MIB)
    driver.synchronise()
    sizes, device, value = [ctypes.c_size_t(), ctypes.c_size_t()], ctypes.c_int(), ctypes.c_uint64()
    status, number = ctypes.c_int(), ctypes.c_uint64()
    queries = {
        "attributes": lambda: driver.attributes(old)["result"],
        "pool": lambda: driver.result("cuMemPoolGetAttribute", pool, 5, ctypes.byref(value)),
        "memory": lambda: driver.result("cuMemGetInfo_v2", *map(ctypes.byref, sizes)),
        "device": lambda: driver.result("cuCtxGetDevice", ctypes.byref(device)),
        "legacy stream": lambda: driver.result(
            "cuStreamGetCaptureInfo_v2", None, ctypes.byref(status), ctypes.byref(number), None, None, None),
    }
    found = {}
    for mode, code in MODES.items():
        for query, ask in queries.items():
            for place in ["same", "other"]:
                for way in ["bare", "relaxed exchange"]:
                    found[f"{mode}, {query}, {place} thread, {way}"] = tried(context, code, ask, place, way)
    driver.tell(found)


def tried(context, mode, ask, place, way):
    """The codes of the query, of the capture's end and of the graph's launch."""
    stream, graph, executable, codes = driver.stream(), ctypes.c_void_p(), ctypes.c_void_p(), []
    driver.call("cuStreamBeginCapture_v2", stream, mode)
    address = ctypes.c_uint64()
    driver.result("cuMemAllocAsync", ctypes.byref(address), ctypes.c_size_t(driver.MIB), stream)

    def query():
        exchanged = ctypes.c_int(2)
        driver.result("cuCtxSetCurrent", context)
        if way != "bare":
            driver.result("cuThreadExchangeStreamCaptureMode", ctypes.byref(exchanged))
        codes.append(ask())
        if way != "bare":
            driver.result("cuThreadExchangeStreamCaptureMode", ctypes.byref(exchanged))

    if place == "same":
        query()
    else:
        thread = threading.Thread(target=query)
        thread.start()
        thread.join()
    driver.result("cuMemFreeAsync", address, stream)
    end = driver.result("cuStreamEndCapture", stream, ctypes.byref(graph))
    launch = None
    if end == 0:
        launch = driver.result("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
        launch = launch or driver.result("cuGraphLaunch", executable, stream) or driver.result("cuStreamSynchronize", stream)
    return {"query": codes[0], "end": end, "launch": launch}


main()
