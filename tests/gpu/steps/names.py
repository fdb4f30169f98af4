"""G1: the results of `cuGetProcAddress` for each hooked function: `names.py NAME…`. Tests all versions and flags that
programs use; each answer is compared with `dlsym` and `dladdr` of all variants of the name."""

import ctypes
import re
import sys

import driver

VERSIONS = [2000, 3020, 4000, 6050, 7000, 10000, 11000, 11040, 12000, 12030, 12080, 13000]
SUFFIXES = [version + stream for version in ["", "_v2", "_v3", "_v4"] for stream in ["", "_ptsz", "_ptds"]]


class Info(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("address", ctypes.c_void_p)]


own = ctypes.CDLL(None)
own.dlsym.restype = ctypes.c_void_p
own.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]


def symbol(name):
    return own.dlsym(driver.library._handle, name.encode())


def named(address):
    info = Info()
    found = own.dladdr(ctypes.c_void_p(address), ctypes.byref(info))
    return info.name.decode() if found and info.name and info.address == address else None


def asked(base, version, flags):
    function, status = ctypes.c_void_p(), ctypes.c_int()
    code = driver.result("cuGetProcAddress_v2", base.encode(), ctypes.byref(function), version, ctypes.c_uint64(flags), ctypes.byref(status))
    return function.value if code == 0 else None


def main():
    driver.start()
    versions = [*VERSIONS, driver.version()]
    known, unknown, misnamed, asked_count, aliases = 0, [], [], 0, 0
    for base in sorted({re.sub(r"(_v\d)?(_ptsz)?$", "", name) for name in sys.argv[1:]}):
        variants = {}
        for suffix in SUFFIXES:
            address = symbol(base + suffix)
            if address:
                variants.setdefault(address, []).append(base + suffix)
        aliases += sum(len(names) > 1 for names in variants.values())
        for version in versions:
            for flags in [0, 1, 2]:
                pointer = asked(base, version, flags)
                if pointer is None:
                    continue
                asked_count += 1
                names = variants.get(pointer)
                if names is None:
                    unknown.append(f"{base} {version} {flags}: dladdr says {named(pointer)}")
                else:
                    known += 1
                    if named(pointer) not in names:
                        misnamed.append(f"{base} {version} {flags}: {named(pointer)} instead of {names}")
    missing = [name for name in sys.argv[1:] if not symbol(name)]
    driver.tell({"asked": asked_count, "known": known, "unknown": unknown, "misnamed": misnamed, "missing": missing, "aliases": aliases})


main()
