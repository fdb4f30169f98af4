"""Corner cases: allocations of 0 bytes, queries while a stream is captured into a graph, trimming of pools."""

import ctypes

import cuda


def zero():
    answers = {}
    for name, arguments in {"cuMemAllocAsync": (None,), "cuMemAlloc_v2": ()}.items():
        address = ctypes.c_uint64(12345)
        code = cuda.result(name, ctypes.byref(address), ctypes.c_size_t(0), *arguments)
        answers[name] = {"result": code, "address": address.value}
    return answers


def while_capturing():
    """Tests which queries are legal during a capture, and whether they invalidate it."""
    answers = {}
    before = cuda.alloc_async(3 * cuda.MIB)
    pool = cuda.default_pool()
    cuda.synchronise()
    for name in ["nothing", "attributes of an old one", "attributes of the new one", "memory info", "pool"]:
        stream, graph, address = cuda.stream(), ctypes.c_void_p(), ctypes.c_uint64()
        # 0 is the strictest mode: a forbidden call in any thread ends the capture.
        code = [cuda.result("cuStreamBeginCapture_v2", stream, 0)]
        code.append(cuda.result("cuMemAllocAsync", ctypes.byref(address), ctypes.c_size_t(cuda.MIB), stream))
        asked = None
        if name == "attributes of an old one":
            asked = cuda.attributes(before)
        elif name == "attributes of the new one":
            asked = cuda.attributes(address.value)
        elif name == "memory info":
            sizes = [ctypes.c_size_t(), ctypes.c_size_t()]
            asked = cuda.result("cuMemGetInfo_v2", *map(ctypes.byref, sizes))
        elif name == "pool":
            asked = cuda.pool_figures(pool)
        code.append(cuda.result("cuMemFreeAsync", address, stream))
        code.append(cuda.result("cuStreamEndCapture", stream, ctypes.byref(graph)))
        answers[name] = {"begin, alloc, free, end": code, "address": address.value, "asked": asked}
    return answers


def trimming():
    pool, steps = cuda.default_pool(), []

    def note(what):
        steps.append({"after": what, **cuda.pool_figures(pool), **cuda.memory()})

    note("nothing")
    live = [cuda.alloc_async(20 * cuda.MIB) for _ in range(8)]
    note("8 x 20 MiB")
    for address in live[:-1]:
        cuda.free_async(address)
    note("all but one freed")
    cuda.result("cuStreamSynchronize", None)
    note("cuStreamSynchronize")
    cuda.synchronise()
    note("cuCtxSynchronize")
    cuda.free_async(live[-1])
    event = ctypes.c_void_p()
    cuda.call("cuEventCreate", ctypes.byref(event), 0)
    cuda.call("cuEventRecord", event, None)
    cuda.call("cuEventSynchronize", event)
    note("the last freed, cuEventSynchronize")
    threshold = ctypes.c_uint64(1 << 40)
    cuda.call("cuMemPoolSetAttribute", pool, 4, ctypes.byref(threshold))
    cuda.free_async(cuda.alloc_async(200 * cuda.MIB))
    cuda.synchronise()
    note("with a threshold: 200 MiB come and gone, synchronised")
    cuda.call("cuMemPoolTrimTo", pool, ctypes.c_size_t(0))
    note("cuMemPoolTrimTo 0")
    return steps


cuda.start()
cuda.parts(zero=zero, while_capturing=while_capturing, trimming=trimming)
