"""G12: the cost of the library's queries in nanoseconds, without that of calling from Python (that of cuDriverGetVersion)."""

import ctypes

import driver

driver.start()
plain, pooled, pool = driver.alloc(3 * driver.MIB), driver.alloc_async(3 * driver.MIB), driver.default_pool()
driver.synchronise()
number, value, mode = ctypes.c_int(), ctypes.c_uint64(), ctypes.c_int(2)
sizes = [ctypes.byref(ctypes.c_size_t()), ctypes.byref(ctypes.c_size_t())]
kinds = [kind() for _, kind in driver.ATTRIBUTES.values()]
numbers = (ctypes.c_int * len(kinds))(*[number for number, _ in driver.ATTRIBUTES.values()])
places = (ctypes.c_void_p * len(kinds))(*[ctypes.addressof(kind) for kind in kinds])
get, by_number, by_value, by_mode = driver.library, ctypes.byref(number), ctypes.byref(value), ctypes.byref(mode)


def attributes(address):
    address = ctypes.c_uint64(address)
    return lambda: get.cuPointerGetAttributes(len(kinds), numbers, places, address)


def pair():
    driver.free_async(driver.alloc_async(1 << 20))


def plain_pair():
    driver.free(driver.alloc(3 << 20))


calling = driver.nanoseconds(lambda: get.cuDriverGetVersion(by_number))
ways = {
    "attributes": attributes(plain), "attributes of a pool": attributes(pooled),
    "pool attribute": lambda: get.cuMemPoolGetAttribute(pool, 5, by_value),
    "memory info": lambda: get.cuMemGetInfo_v2(*sizes),
    "device": lambda: get.cuCtxGetDevice(by_number),
    "exchange": lambda: get.cuThreadExchangeStreamCaptureMode(by_mode),
    "async pair": pair,
}
found = {name: round(driver.nanoseconds(way) - calling, 1) for name, way in ways.items()}
found["3 MiB pair"] = round(driver.nanoseconds(plain_pair, 100) - calling, 1)
driver.tell(found)
