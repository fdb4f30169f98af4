"""G10: queries during a capture, in each mode, from the capturing thread and another, bare and in a relaxed exchange."""

import ctypes
import threading

import cuda

MODES = {"global": 0, "thread local": 1, "relaxed": 2}


def main():
    cuda.start()
    old, pool, context = cuda.alloc(3 * cuda.MIB), cuda.default_pool(), ctypes.c_void_p()
    cuda.call("cuCtxGetCurrent", ctypes.byref(context))
    cuda.alloc_async(cuda.MIB)
    cuda.synchronise()
    sizes, device, value = [ctypes.c_size_t(), ctypes.c_size_t()], ctypes.c_int(), ctypes.c_uint64()
    status, number = ctypes.c_int(), ctypes.c_uint64()
    queries = {
        "attributes": lambda: cuda.attributes(old)["result"],
        "pool": lambda: cuda.result("cuMemPoolGetAttribute", pool, 5, ctypes.byref(value)),
        "memory": lambda: cuda.result("cuMemGetInfo_v2", *map(ctypes.byref, sizes)),
        "device": lambda: cuda.result("cuCtxGetDevice", ctypes.byref(device)),
        "legacy stream": lambda: cuda.result(
            "cuStreamGetCaptureInfo_v2", None, ctypes.byref(status), ctypes.byref(number), None, None, None),
    }
    found = {}
    for mode, code in MODES.items():
        for query, ask in queries.items():
            for place in ["same", "other"]:
                for way in ["bare", "relaxed exchange"]:
                    found[f"{mode}, {query}, {place} thread, {way}"] = tried(context, code, ask, place, way)
    cuda.tell(found)


def tried(context, mode, ask, place, way):
    """The codes of the query, of the capture's end and of the graph's launch."""
    stream, graph, executable, codes = cuda.stream(), ctypes.c_void_p(), ctypes.c_void_p(), []
    cuda.call("cuStreamBeginCapture_v2", stream, mode)
    address = ctypes.c_uint64()
    cuda.result("cuMemAllocAsync", ctypes.byref(address), ctypes.c_size_t(cuda.MIB), stream)

    def query():
        exchanged = ctypes.c_int(2)
        cuda.result("cuCtxSetCurrent", context)
        if way != "bare":
            cuda.result("cuThreadExchangeStreamCaptureMode", ctypes.byref(exchanged))
        codes.append(ask())
        if way != "bare":
            cuda.result("cuThreadExchangeStreamCaptureMode", ctypes.byref(exchanged))

    if place == "same":
        query()
    else:
        thread = threading.Thread(target=query)
        thread.start()
        thread.join()
    cuda.result("cuMemFreeAsync", address, stream)
    end = cuda.result("cuStreamEndCapture", stream, ctypes.byref(graph))
    launch = None
    if end == 0:
        launch = cuda.result("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))
        launch = launch or cuda.result("cuGraphLaunch", executable, stream) or cuda.result("cuStreamSynchronize", stream)
    return {"query": codes[0], "end": end, "launch": launch}


main()
