"""Writes fixtures with those of torch's own producers that need no GPU.

    python tests/make/cpu_producers.py [FOLDER]      (default: tests/fixtures/torch-<version>)

Needs torch 2.x. A producer that this version lacks is reported and skipped. The committed files were made with
torch 2.15.0+cu132 from PyPI on CPython 3.11.

    profile_to_snapshot.pickle   torch.cuda._memory_viz._profile_to_snapshot of a profiled training step
    profile_plot.html            profile_plot of the same
    trace_plot.html, trace_plot_segments.html, segment_plot.html   of profile_to_snapshot.pickle
    empty_python.pickle          pickle.dump(torch._C._cuda_memorySnapshot(None)): the exact top-level keys
    empty_cpp.pickle             torch::cuda::_memory_snapshot_pickled(), the C++ producer (protocol 2)
    empty_list.pickle            pickle.dump(torch.cuda.memory_snapshot()): a bare list
    profile_to_snapshot.<command>.txt   what `python -m torch.cuda._memory_viz <command>` prints for it
"""

import ctypes
import pathlib
import pickle
import subprocess
import sys

import torch
from torch.cuda import _memory_viz

import tidy

HERE = pathlib.Path(__file__).resolve().parent


def profiled_step():
    """A profile of two training steps of a small model, with Python stacks and categories."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 16))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True, with_stack=True, record_shapes=True) as profile:
        for _ in range(2):
            loss = model(torch.randn(32, 64)).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return profile


def move_together(snapshot):
    """Moves the addresses of a CPU heap together, so that the fixture does not depend on the machine's memory map.

    Only the distance between addresses is changed, in whole pages and only where nothing lies between.
    """
    segment = snapshot["segments"][0]
    base = segment["address"]
    shift = 0x7F0000000000 - base
    segment["address"] += shift
    for entry in snapshot["device_traces"][0]:
        entry["addr"] += shift
    return snapshot


def cpp_snapshot():
    """The bytes of torch::cuda::_memory_snapshot_pickled(), called by its mangled name."""
    library = ctypes.CDLL(str(pathlib.Path(torch.__file__).parent / "lib" / "libtorch_cuda.so"))
    function = library["_ZN5torch4cuda24_memory_snapshot_pickledB5cxx11Ev"]
    # A std::string returned by value: the caller passes 32 bytes, which begin with pointer and length.
    string = (ctypes.c_size_t * 4)()
    function.restype = None
    function(ctypes.byref(string))
    return ctypes.string_at(string[0], string[1])


def cli(folder, snapshot, command, *options):
    """Runs torch's own command line on a file."""
    arguments = [sys.executable, "-m", "torch.cuda._memory_viz", command, snapshot, *options]
    result = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        print(f"skipped {command}: {result.stderr.strip().splitlines()[-1:]}")
        return None
    return result.stdout


def main():
    version = torch.__version__.split("+")[0]
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "fixtures" / f"torch-{version}"
    folder.mkdir(parents=True, exist_ok=True)

    def write(name, data):
        data = data.encode() if isinstance(data, str) else data
        (folder / name).write_bytes(tidy.check_clean(data, name))
        print(f"{len(data):8} {name}")

    def attempt(name, make):
        try:
            write(name, make())
        except (AttributeError, RuntimeError, TypeError, OSError, KeyError) as error:
            print(f"skipped {name}: {type(error).__name__}: {error}")

    snapshot = _memory_viz._profile_to_snapshot(profiled_step())
    snapshot = move_together(tidy.hide_places(snapshot, str(HERE)))
    tidy.cut_stacks(snapshot, 3, 3)
    # Pickling twice: the first load unshares nothing, it only makes the file what `_dump_snapshot` would write.
    write("profile_to_snapshot.pickle", pickle.dumps(snapshot))
    attempt("profile_plot.html", lambda: _memory_viz._format_viz(snapshot, "Active Memory Timeline", None))
    attempt("trace_plot.html", lambda: _memory_viz.trace_plot(snapshot))
    attempt("trace_plot_segments.html", lambda: _memory_viz.trace_plot(snapshot, plot_segments=True))
    attempt("segment_plot.html", lambda: _memory_viz.segment_plot(snapshot))
    attempt("empty_python.pickle", lambda: pickle.dumps(torch._C._cuda_memorySnapshot(None)))
    attempt("empty_cpp.pickle", cpp_snapshot)
    attempt("empty_list.pickle", lambda: pickle.dumps(torch.cuda.memory_snapshot()))
    for command in ("stats", "trace"):
        text = cli(folder, "profile_to_snapshot.pickle", command)
        if text is not None:
            write(f"profile_to_snapshot.{command}.txt", tidy.hide_text(text, str(HERE)))


if __name__ == "__main__":
    main()
