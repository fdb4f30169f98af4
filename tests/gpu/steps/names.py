"""Tests whether dladdr names the results of cuGetProcAddress, and whether they equal those of dlsym."""

import ctypes

import cuda

# Name, version of the interface that cudart asks for, flags (2: per-thread default stream).
ASKED = [
    ("cuMemAlloc", 3020, 0), ("cuMemFree", 3020, 0), ("cuMemAllocPitch", 3020, 0), ("cuMemAllocManaged", 6000, 0),
    ("cuMemAllocAsync", 11020, 0), ("cuMemAllocAsync", 11020, 2), ("cuMemFreeAsync", 11020, 0),
    ("cuMemFreeAsync", 11020, 2), ("cuMemAllocFromPoolAsync", 11020, 0), ("cuMemPoolTrimTo", 11020, 0),
    ("cuMemHostAlloc", 2020, 0), ("cuMemFreeHost", 2000, 0), ("cuMemAddressReserve", 10020, 0), ("cuMemCreate", 10020, 0),
    ("cuMemMap", 10020, 0), ("cuStreamSynchronize", 2000, 0), ("cuGetProcAddress", 11030, 0), ("cuGetProcAddress", 12000, 0),
]


class Info(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("address", ctypes.c_void_p)]


own = ctypes.CDLL(None)
own.dlsym.restype = ctypes.c_void_p
own.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]


def named(address):
    info = Info()
    found = own.dladdr(ctypes.c_void_p(address), ctypes.byref(info))
    name = info.name.decode() if found and info.name else None
    return {"name": name, "exact": info.address == address, "file": info.file.decode() if found and info.file else None}


def asked(name, version, flags):
    function, status = ctypes.c_void_p(), ctypes.c_int()
    arguments = [name.encode(), ctypes.byref(function), version, ctypes.c_uint64(flags), ctypes.byref(status)]
    code = cuda.result("cuGetProcAddress_v2", *arguments)
    if code != 0 or not function.value:
        return {"result": code, "status": status.value}
    same = []
    for suffix in ["", "_v2", "_v3", "_ptsz", "_v2_ptsz"]:
        if own.dlsym(cuda.library._handle, (name + suffix).encode()) == function.value:
            same.append(name + suffix)
    return {"dladdr": named(function.value), "dlsym gives it for": same}


def all():
    return {f"{name} {version} {flags}": asked(name, version, flags) for name, version, flags in ASKED}


cuda.start()
cuda.parts(names=all)
