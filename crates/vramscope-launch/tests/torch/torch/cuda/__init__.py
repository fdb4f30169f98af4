"""Lazy initialisation, as torch/cuda/__init__.py has it."""

import threading

import torch

from . import memory

_initialized = False
_tls = threading.local()
_initialization_lock = threading.Lock()
_queued_calls = []


def device_count():
    return 1


def is_initialized():
    return _initialized


def _lazy_call(callable, **kwargs):
    with _initialization_lock:
        if is_initialized():
            callable()
        else:
            _queued_calls.append((callable, []))


def init():
    _lazy_init()


def _lazy_init():
    global _initialized
    if is_initialized() or hasattr(_tls, "is_initializing"):
        return
    with _initialization_lock:
        if is_initialized():
            return
        if torch.KIND == "cpu":
            raise AssertionError("Torch not compiled with CUDA enabled")
        _tls.is_initializing = True
        try:
            for queued_call, _ in _queued_calls:
                queued_call()
        finally:
            delattr(_tls, "is_initializing")
        _initialized = True
