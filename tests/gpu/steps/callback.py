"""G11: cuCtxGetDevice within a host function while the launching thread waits for the stream."""

import ctypes
import time

import driver

driver.start()
stream, device, found = driver.stream(), ctypes.c_int(), {}


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def function(_data):
    # Lets the launching thread come to its synchronisation first.
    time.sleep(0.05)
    begin = time.perf_counter()
    found["code"] = driver.result("cuCtxGetDevice", ctypes.byref(device))
    found["ms"] = (time.perf_counter() - begin) * 1000


driver.call("cuLaunchHostFunc", stream, function, None)
driver.call("cuStreamSynchronize", stream)
driver.tell(found)
