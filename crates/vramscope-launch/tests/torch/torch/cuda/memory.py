"""The recorder of memory, as torch/cuda/memory.py has it since 2.1, or with the arguments of 2.0."""

import os
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


def memory_allocated(device=None):
    return torch.live * int(os.environ.get("FAKE_TORCH_BYTES", 512))


def _snapshot(device=None):
    """Each event is an allocation that stays, of FAKE_TORCH_BYTES; so do those whose events are forgotten."""
    frames = [{"name": "main", "filename": torch.__file__.replace("torch/__init__.py", "own.py"), "line": 1}]
    size = int(os.environ.get("FAKE_TORCH_BYTES", 512))
    live, events = range(torch.live), range(torch.events)
    block = {"size": size, "requested_size": size, "state": "active_allocated", "frames": frames}
    alloc = {"action": "alloc", "size": size, "stream": 0, "frames": frames}
    segment = {
        "device": 0,
        "address": 4096,
        "total_size": size * len(live),
        "stream": 0,
        "segment_type": "large",
        "blocks": [{"address": 4096 + size * place, **block} for place in live],
    }
    return {
        "segments": [segment] if torch.cuda._initialized and live else [],
        "device_traces": [[{"addr": 4096 + size * event, "time_us": event, **alloc} for event in events]],
        "calls": [repr(call) for call in torch.calls],
    }


def _dump_snapshot(filename="dump_snapshot.pickle"):
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)


def get_allocator_backend():
    return "cudaMallocAsync" if torch.KIND == "async" else "native"
