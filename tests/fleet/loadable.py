"""Makes Ballista's library load with an older glibc than its wheel requires: loadable.py FOLDER.

It was linked with glibc 2.39, from which it uses two symbols, both weak: Rust's standard library works without them. But the
linker did not mark the version as needed only by weak symbols, so the loader refuses. This sets the mark.
"""

import os
import pathlib
import struct
import sys

VERSIONS_NEEDED = 0x6FFFFFFE
WEAK = 2


def newer(name, known):
    """Whether a version of glibc is newer than the system's."""
    numbers = name.removeprefix("GLIBC_").split(".")
    return name.startswith("GLIBC_2.") and tuple(map(int, numbers)) > known


def mend(file, known):
    data = bytearray(file.read_bytes())
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + place * size) for place in range(count)]
    for section in sections:
        if section[1] != VERSIONS_NEEDED:
            continue
        names = sections[section[6]][4]
        need = section[4]
        while True:
            _, _, _, first, next_need = struct.unpack_from("<HHIII", data, need)
            version = need + first
            while True:
                _, flags, _, name, next_version = struct.unpack_from("<IHHII", data, version)
                text = data[names + name : data.index(0, names + name)].decode()
                if newer(text, known):
                    struct.pack_into("<H", data, version + 4, flags | WEAK)
                if next_version == 0:
                    break
                version += next_version
            if next_need == 0:
                break
            need += next_need
    file.write_bytes(data)


if __name__ == "__main__":
    system = os.confstr("CS_GNU_LIBC_VERSION").split()[-1]
    for library in pathlib.Path(sys.argv[1]).rglob("*.abi3.so"):
        mend(library, tuple(map(int, system.split("."))))
