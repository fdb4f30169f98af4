"""CUPTI's memory records of this process, for comparison: `with records() as list: …`.

CUPTI's records of allocations and frees (CUPTI_ACTIVITY_KIND_MEMORY2) come from the driver itself.
"""

import contextlib
import ctypes
import glob
import os
import struct
import sys

KIND_MEMORY2 = 49
OPERATIONS = {1: "alloc", 2: "free"}
# Of CUpti_ActivityMemoryKind: 4 are arrays, 6 and 7 static variables of modules.
DEVICE, MANAGED = 3, 5
BUFFER_BYTES = 1 << 20


def library():
    """Loads libcupti from torch's wheels, or else the system's."""
    folders = [folder for folder in sys.path if os.path.isdir(folder)]
    patterns = ["nvidia/*/lib/libcupti.so.*", "nvidia/cuda_cupti/lib/libcupti.so.*"]
    found = [path for folder in folders for pattern in patterns for path in glob.glob(os.path.join(folder, pattern))]
    found += glob.glob("/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.*") + ["libcupti.so.13", "libcupti.so.12"]
    for path in found:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(path)
    raise OSError("no libcupti")


@contextlib.contextmanager
def records():
    """Yields a list that contains (operation, memory kind, address, bytes) after the block."""
    cupti, buffers, list = library(), [], []

    @ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t))
    def requested(buffer, size, most):
        buffers.append((ctypes.c_uint64 * (BUFFER_BYTES // 8))())
        buffer[0], size[0], most[0] = ctypes.addressof(buffers[-1]), BUFFER_BYTES, 0

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
    def completed(_context, _stream, buffer, _size, valid):
        record = ctypes.c_void_p()
        while cupti.cuptiActivityGetNextRecord(ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(record)) == 0:
            kind, operation, memory, _, address, size = struct.unpack("<IIIIQQ", ctypes.string_at(record.value, 32))
            if kind == KIND_MEMORY2:
                list.append((OPERATIONS.get(operation, str(operation)), memory, address, size))

    checks = [cupti.cuptiActivityRegisterCallbacks(requested, completed), cupti.cuptiActivityEnable(KIND_MEMORY2)]
    if any(checks):
        raise OSError(f"CUPTI refuses: {checks}")
    try:
        yield list
    finally:
        cupti.cuptiActivityFlushAll(1)
        cupti.cuptiActivityDisable(KIND_MEMORY2)
        # The callbacks must outlive CUPTI, which may call them until the process ends.
        records.kept = (cupti, requested, completed, buffers)
