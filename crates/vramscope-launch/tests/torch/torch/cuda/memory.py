"""The recorder of memory, as torch/cuda/memory.py has it since 2.1, or with the arguments of 2.0."""

import pickle

import torch


def _switch(enabled, options):
    if torch.KIND == "async":
        raise RuntimeError("cudaMallocAsync does not yet support recordHistory.")
    torch.calls.append((enabled, options))
    torch.is_recording = enabled
    if not enabled:
        torch.events = 0


if torch.KIND == "old":

    def _record_memory_history(
        enabled,
        record_context=True,
        trace_alloc_max_entries=1,
        trace_alloc_record_context=False,
        device=None,
        record_context_cpp=False,
    ):
        _switch(bool(enabled), {"max_entries": trace_alloc_max_entries})

else:

    def _record_memory_history(enabled="all", *args, **kwargs):
        _switch(enabled, kwargs)


def _snapshot(device=None):
    frames = [{"name": "main", "filename": torch.__file__.replace("torch/__init__.py", "own.py"), "line": 1}]
    block = {"address": 0, "size": 512, "requested_size": 512, "state": "active_allocated", "frames": frames}
    trace = [{"action": "alloc", "addr": 0, "size": 512, "stream": 0, "frames": frames}] * torch.events
    segment = {"device": 0, "address": 0, "total_size": 512, "blocks": [block]}
    return {
        "segments": [segment] if torch.cuda._initialized and torch.events else [],
        "device_traces": [trace],
        "recording": torch.is_recording,
        "calls": [repr(call) for call in torch.calls],
    }


def _dump_snapshot(filename="dump_snapshot.pickle"):
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)


def get_allocator_backend():
    return "cudaMallocAsync" if torch.KIND == "async" else "native"
