"""A torch that allocates nothing, but behaves as torch does where the recorder touches it.

FAKE_TORCH chooses the build: cuda (as of 2.15), cpu, hip, xpu, old (2.0), async (cudaMallocAsync), npu. The recorder's
arguments are in `torch.calls`.
"""

import os
import types
import warnings

KIND = os.environ.get("FAKE_TORCH", "cuda")
__version__ = {"cpu": "2.15.0+cpu", "old": "2.0.1", "hip": "2.15.0+rocm7.0"}.get(KIND, "2.15.0+cu130")
version = types.SimpleNamespace(
    cuda="13.0" if KIND in ("cuda", "old", "async") else None,
    hip="7.0" if KIND == "hip" else None,
    xpu="2025.2" if KIND == "xpu" else None,
)
calls = []
observers = []
is_recording = None
events = 0
live = 0


def _attach(observer):
    if KIND == "async":
        raise RuntimeError("cudaMallocAsync does not yet support attachOutOfMemoryObserver.")
    observers.append(observer)


def _unwind(**_):
    """The first C++ stack inspects all libraries, and warns."""
    warnings.warn("Unsupported unwinding pattern: made up")


_C = types.SimpleNamespace(
    _cuda_attach_out_of_memory_observer=_attach, _profiler=types.SimpleNamespace(gather_traceback=_unwind)
)

from . import cuda, distributed, optim  # noqa: E402

if KIND == "npu":
    npu = types.SimpleNamespace()


class OutOfMemoryError(RuntimeError):
    pass


def use(fail=False):
    """Allocates, or makes a request fail."""
    global events, live
    cuda._lazy_init()
    if fail:
        for observer in observers:
            observer(0, 1, 2, 3)
        raise OutOfMemoryError("CUDA out of memory.")
    if is_recording:
        _unwind()
    events += 1
    live += 1
