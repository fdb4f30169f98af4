"""The cost of queries to the driver in nanoseconds. The cost of a call from Python is that of cuDriverGetVersion."""

import ctypes

import cuda

cuda.start()
plain, pooled, pool = cuda.alloc(3 * cuda.MIB), cuda.alloc_async(3 * cuda.MIB), cuda.default_pool()
cuda.synchronise()
number, value = ctypes.c_int(), ctypes.c_uint64()
sizes = [ctypes.c_size_t(), ctypes.c_size_t()]
kinds = [kind() for _, kind in cuda.ATTRIBUTES.values()]
numbers = (ctypes.c_int * len(kinds))(*[number for number, _ in cuda.ATTRIBUTES.values()])
places = (ctypes.c_void_p * len(kinds))(*[ctypes.addressof(kind) for kind in kinds])


def pointer(address):
    address = ctypes.c_uint64(address)
    return cuda.nanoseconds(lambda: cuda.result("cuPointerGetAttributes", len(kinds), numbers, places, address))


def pair():
    def both():
        cuda.free_async(cuda.alloc_async(1 << 20))

    return cuda.nanoseconds(both)


def plain_pair():
    def both():
        cuda.free(cuda.alloc(3 << 20))

    return cuda.nanoseconds(both, 100)


cuda.parts(
    calling=lambda: cuda.nanoseconds(lambda: cuda.result("cuDriverGetVersion", ctypes.byref(number))),
    pointer_attributes=lambda: pointer(plain),
    pointer_attributes_of_a_pool=lambda: pointer(pooled),
    pool_attribute=lambda: cuda.nanoseconds(lambda: cuda.result("cuMemPoolGetAttribute", pool, 5, ctypes.byref(value))),
    memory_info=lambda: cuda.nanoseconds(lambda: cuda.result("cuMemGetInfo_v2", *map(ctypes.byref, sizes))),
    alloc_and_free_async=pair,
    alloc_and_free=plain_pair,
)
