"""G11: cuCtxGetDevice within a host function while the launching thread waits for the stream."""

import ctypes
import time

import cuda

cuda.start()
stream, device, found = cuda.stream(), ctypes.c_int(), {}


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def function(_data):
    # Lets the launching thread come to its synchronisation first.
    time.sleep(0.05)
    begin = time.perf_counter()
    found["code"] = cuda.result("cuCtxGetDevice", ctypes.byref(device))
    found["ms"] = (time.perf_counter() - begin) * 1000


cuda.call("cuLaunchHostFunc", stream, function, None)
cuda.call("cuStreamSynchronize", stream)
cuda.tell(found)
