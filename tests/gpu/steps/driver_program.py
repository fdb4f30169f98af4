"""Every kind of allocation by the driver's own functions, under capture: `driver_program.py OUT.json`.

Writes a list of its own actions and CUPTI's records, to compare the snapshot with.
"""

import contextlib
import json
import sys

import cuda

seen, listed = {"cupti": None}, None
cuda.start()
did = []


def note(what, address, size):
    did.append((what, address, size))
    return address


with contextlib.ExitStack() as stack:
    import cupti

    try:
        listed = stack.enter_context(cupti.records())
    except (OSError, AttributeError) as error:
        seen["cupti"] = str(error)
    second = cuda.stream()
    live = [(note("alloc", cuda.alloc(size), size), size, False) for size in [777, 5000, 3 << 20, 100 << 20]]
    for turn in range(200):
        size = 1000 + (turn * 7919 << 9) % (8 << 20)
        live.append((note("alloc", cuda.alloc_async(size, second if turn % 3 else None), size), size, True))
        if turn % 2:
            address, size, is_async = live.pop(len(live) // 2)
            note("free", address, size)
            cuda.free_async(address) if is_async else cuda.free(address)
        if turn % 50 == 49:
            cuda.synchronise()
    managed = cuda.managed(5 << 20)
    note("alloc", managed, 5 << 20)
    cuda.synchronise()
seen |= {"did": did, "records": listed}
with open(sys.argv[1], "w") as file:
    json.dump(seen, file)
