"""Records snapshots of torch's own CUDA caching allocator, one small file per feature.

    python tests/make/record_gpu.py                 on a machine with an NVIDIA GPU
    sh tests/make/standin.sh                       on any machine: the same, with a CUDA runtime that needs no GPU
    python tests/make/record_gpu.py --out FOLDER --only streams oom
    python tests/make/record_gpu.py --large FOLDER  a file of several hundred MB as well (never committed)
    python tests/make/record_gpu.py --list

Each scenario runs in a process of its own, since the allocator's state, its settings and its ring
buffer last as long as the process. A scenario that this torch cannot run is reported and skipped, so any
torch from 2.0 on writes the files that it can. All files go to tests/fixtures/torch-<version>/, with
personal folders replaced and stacks cut short.

The committed files were recorded over a stand-in for CUDA, CPython 3.11 and the torch versions in the folder
names: the allocator's code, the stacks and the pickling are genuine, CUDA's answers are not.
"""

import argparse
import ctypes
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

import tidy

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
SCENARIOS = {}
# Environment variables that a scenario needs before torch is loaded.
ENVIRONMENT = {}


class Skip(Exception):
    """This torch or this machine cannot run the scenario."""


def scenario(**environment):
    """Registers a function that returns {file name: snapshot or bytes}."""

    def register(function):
        SCENARIOS[function.__name__] = function
        ENVIRONMENT[function.__name__] = environment
        return function

    return register


# ---- helpers ------------------------------------------------------------------------------------


def torch_cuda():
    import torch

    if not torch.cuda.is_available():
        raise Skip("no CUDA device")
    torch.cuda.init()
    return torch


def record(torch, **options):
    """Switches recording on, with those of the options that this torch knows."""
    options.setdefault("stacks", "python")
    options.setdefault("max_entries", 5000)
    while True:
        try:
            return torch.cuda.memory._record_memory_history("all", **options)
        except TypeError as error:
            if "incompatible function arguments" in str(error) and not REQUIRED & set(options):
                return record_as_2_0(torch, options)
            unknown = [name for name in options if f"'{name}'" in str(error)]
            if not unknown or unknown[0] in REQUIRED:
                raise Skip(f"_record_memory_history: {error}") from error
            del options[unknown[0]]


def record_as_2_0(torch, options):
    """torch 2.0's arguments: everything is a flag, and a trace is kept only on request."""
    stacks = options.get("context", "all") is not None
    torch.cuda.memory._record_memory_history(
        True, record_context=stacks, trace_alloc_max_entries=options.get("max_entries", 5000), trace_alloc_record_context=stacks
    )


# Options that a scenario is about: without them it is skipped.
REQUIRED = {"record_pinned_host_memory", "skip_actions", "compile_context", "global_record_annotations"}


def snapshot_of(torch, **options):
    return torch.cuda.memory._snapshot(**options)


def hold(on):
    """Over the stand-in: sets whether events stay unfinished. On a GPU, a kernel keeps the stream busy instead."""
    try:
        function = ctypes.CDLL(None).standin_hold
    except AttributeError:
        return False
    function(int(on))
    return True


def gelu_layers(torch, count, width):
    """Parameters of a small elementwise network: kernels alone, no cuBLAS."""
    return [torch.empty(width, width, device="cuda", requires_grad=True) for _ in range(count)]


def train_step(torch, layers, batch):
    activation = batch
    for weight in layers:
        activation = torch.nn.functional.gelu(activation * weight)
    activation.sum().backward()
    for weight in layers:
        weight.grad = None


# ---- scenarios ----------------------------------------------------------------------------------


@scenario()
def training():
    """A few training steps; a cached segment is returned in between."""
    torch = torch_cuda()
    record(torch)
    layers = gelu_layers(torch, 6, 300)
    for step in range(4):
        train_step(torch, layers, torch.zeros(300, 300, device="cuda"))
        if step == 1:
            torch.cuda.empty_cache()
    return {"training": snapshot_of(torch)}


@scenario()
def recorded_late():
    """Recording begins after some allocations; a few of them are freed while it runs."""
    torch = torch_cuda()
    before = [torch.empty(100_000 * (i + 1), dtype=torch.uint8, device="cuda") for i in range(30)]
    record(torch)
    del before[::3]
    after = [torch.empty(50_000 * (i + 1), dtype=torch.uint8, device="cuda") for i in range(10)]
    del after[5:]
    return {"recorded_late": snapshot_of(torch)}


@scenario()
def ring_buffer():
    """More events than the ring buffer holds."""
    torch = torch_cuda()
    record(torch, max_entries=64)
    kept = []
    for i in range(100):
        kept.append(torch.empty(1000 * (i + 1), dtype=torch.uint8, device="cuda"))
        if i % 3 == 2:
            kept.pop(0)
    return {"ring_buffer": snapshot_of(torch)}


@scenario()
def state_mode():
    """enabled="state": blocks with stacks, and a trace of one entry."""
    torch = torch_cuda()
    try:
        torch.cuda.memory._record_memory_history("state", stacks="python")
    except TypeError:
        torch.cuda.memory._record_memory_history(True)
    kept = [torch.empty(200_000, dtype=torch.uint8, device="cuda") for _ in range(12)]
    del kept[3]
    return {"state_mode": snapshot_of(torch)}


@scenario()
def no_stacks():
    """context=None: trace entries without the key `frames`."""
    torch = torch_cuda()
    record(torch, context=None)
    kept = [torch.empty(3 * MIB, dtype=torch.uint8, device="cuda") for _ in range(5)]
    del kept[1:3]
    return {"no_stacks": snapshot_of(torch)}


@scenario()
def not_recorded():
    """No recording at all: segments and blocks only."""
    torch = torch_cuda()
    kept = [torch.empty(3 * MIB + i, dtype=torch.uint8, device="cuda") for i in range(5)]
    del kept[2]
    return {"not_recorded": snapshot_of(torch)}


@scenario()
def two_devices():
    """Traces of two devices, the second with the higher peak."""
    torch = torch_cuda()
    if torch.cuda.device_count() < 2:
        raise Skip("one device")
    record(torch)
    first = torch.empty(2 * MIB, device="cuda:0")
    second = [torch.empty(8 * MIB, device="cuda:1") for _ in range(3)]
    del second[0], first
    return {"two_devices": snapshot_of(torch)}


@scenario()
def streams():
    """Blocks used on other streams: their frees stay pending, and complete later or not at all."""
    torch = torch_cuda()
    record(torch)
    side, third = torch.cuda.Stream(), torch.cuda.Stream()
    held = hold(True)
    with torch.cuda.stream(side):
        if not held:
            torch.cuda._sleep(2_000_000_000)
        on_side = [torch.empty(MIB * (i + 1), dtype=torch.uint8, device="cuda") for i in range(4)]
    on_default = [torch.empty(700_000 * (i + 1), dtype=torch.uint8, device="cuda") for i in range(6)]
    for tensor in on_default:
        tensor.record_stream(side)
    for tensor in on_side[:2]:
        tensor.record_stream(third)
    del tensor, on_default[:4], on_side[1:]
    pending = snapshot_of(torch)
    hold(False)
    torch.cuda.synchronize()
    # The next malloc polls the events and completes the pending frees.
    more = torch.empty(10, device="cuda")
    hold(True)
    on_default[0].record_stream(side)
    if not held:
        with torch.cuda.stream(side):
            torch.cuda._sleep(2_000_000_000)
    del on_default[0]
    completed = snapshot_of(torch)
    del more
    return {"streams_pending": pending, "streams_completed": completed}


@scenario()
def private_pools():
    """A MemPool and a graph pool beside the default one."""
    torch = torch_cuda()
    record(torch)
    default = torch.empty(MIB, device="cuda")
    if not hasattr(torch.cuda, "MemPool"):
        raise Skip("no torch.cuda.MemPool")
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        inside = [torch.empty(3 * MIB, dtype=torch.uint8, device="cuda") for _ in range(3)]
        small = torch.empty(100, device="cuda")
    del inside[1]
    whole = snapshot_of(torch)
    result = {"private_pools": whole}
    if hasattr(pool, "snapshot"):
        result["mem_pool_list"] = pool.snapshot()
    del default, small
    return result


@scenario()
def cuda_graph():
    """Allocations made while a CUDA graph is captured, then replayed."""
    torch = torch_cuda()
    record(torch)
    static = torch.zeros(400_000, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        inner = static * 2
        outer = inner + static
        del inner
        result = outer * outer
    graph.replay()
    after = torch.empty(2 * MIB, dtype=torch.uint8, device="cuda")
    snapshot = snapshot_of(torch)
    del result, after
    return {"cuda_graph": snapshot}


@scenario()
def pinned():
    """Pinned host memory: host_segments and host_traces."""
    torch = torch_cuda()
    record(torch, record_pinned_host_memory=True)
    kept = [torch.empty(100_000 * (i + 1), dtype=torch.uint8, pin_memory=True) for i in range(6)]
    del kept[2:4]
    kept.append(torch.empty(250_000, dtype=torch.uint8, pin_memory=True))
    device = torch.empty(1000, device="cuda")
    snapshot = snapshot_of(torch)
    del device
    return {"pinned": snapshot}


@scenario()
def annotated():
    """annotate events, user metadata and named ranges."""
    torch = torch_cuda()
    options = {"global_record_annotations": True}
    try:
        record(torch, **options)
    except Skip:
        record(torch)
    memory = torch.cuda.memory
    if not any(hasattr(memory, name) for name in ("_annotate_tensor", "_set_memory_metadata")):
        raise Skip("neither _annotate_tensor nor _set_memory_metadata")
    with torch.profiler.record_function("## forward ##"):
        first = torch.empty(MIB, dtype=torch.uint8, device="cuda")
        with torch.profiler.record_function("inner é"):
            memory._set_memory_metadata({"phase": "forward", "layer": 3})
            second = torch.empty(2 * MIB, dtype=torch.uint8, device="cuda")
            memory._set_memory_metadata("step; two")
            third = torch.empty(512, dtype=torch.uint8, device="cuda")
            memory._set_memory_metadata("")
    if hasattr(memory, "_annotate_tensor"):
        memory._annotate_tensor(first, "packed into the graph")
        memory._annotate_tensor(second[100:], "a view")
        memory._annotate_tensor(first, "again")
    del first
    snapshot = snapshot_of(torch)
    del second, third
    return {"annotated": snapshot}


@scenario()
def named_ranges():
    """external_annotations of record_function and of an optimizer's steps."""
    torch = torch_cuda()
    record(torch, global_record_annotations=True)
    weight = torch.zeros(1000, device="cuda", requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1, foreach=False)
    for _ in range(2):
        with torch.profiler.record_function("forward"):
            loss = (weight * 2).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return {"named_ranges": snapshot_of(torch)}


@scenario(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True", PYTORCH_ALLOC_CONF="expandable_segments:True")
def expandable():
    """Expandable segments: maps, unmaps of the middle, one reservation as several segments."""
    torch = torch_cuda()
    record(torch)
    kept = [torch.empty((i + 1) * 4 * MIB, dtype=torch.uint8, device="cuda") for i in range(6)]
    small = [torch.empty(1000, device="cuda") for _ in range(3)]
    grown = snapshot_of(torch)
    del kept[1], kept[2]
    torch.cuda.empty_cache()
    holes = snapshot_of(torch)
    if not any(entry["action"] == "segment_map" for entry in grown["device_traces"][0]):
        raise Skip("no segment was mapped")
    kept.append(torch.empty(30 * MIB, dtype=torch.uint8, device="cuda"))
    del small
    return {"expandable_grown": grown, "expandable_holes": holes, "expandable_refilled": snapshot_of(torch)}


@scenario(STANDIN_TOTAL_BYTES=str(128 << 20))
def oom():
    """An allocation that fails: the snapshot that an observer takes, and the one afterwards."""
    torch = torch_cuda()
    record(torch)
    seen = []
    if hasattr(torch._C, "_cuda_attach_out_of_memory_observer"):
        torch._C._cuda_attach_out_of_memory_observer(lambda *_: seen.append(snapshot_of(torch)))
    total = torch.cuda.get_device_properties(0).total_memory
    kept, step = [], min(total // 12, 8 << 30)
    try:
        for i in range(20):
            kept.append(torch.empty(step + i * 100_000, dtype=torch.uint8, device="cuda"))
            if i == 4:
                kept.pop(1)
    except torch.cuda.OutOfMemoryError:
        pass
    result = {"oom_after": snapshot_of(torch)}
    if seen:
        result["oom_observer"] = seen[-1]
    del kept
    return result


@scenario()
def stacks_all():
    """stacks="all": C++ and Python frames interleaved."""
    torch = torch_cuda()
    record(torch, stacks="all")
    layers = gelu_layers(torch, 2, 64)
    train_step(torch, layers, torch.zeros(64, 64, device="cuda"))
    return {"stacks_all": snapshot_of(torch)}


@scenario()
def contexts():
    """context="state" and context="alloc": they decide which entries carry a stack."""
    torch = torch_cuda()
    result = {}
    for context in ("state", "alloc"):
        record(torch, context=context)
        kept = [torch.empty(3000, device="cuda") for _ in range(4)]
        del kept[:2]
        result[f"context_{context}"] = snapshot_of(torch)
        try:
            torch.cuda.memory._record_memory_history(None)
        except TypeError:
            torch.cuda.memory._record_memory_history(False)
    return result


@scenario()
def snapshot_events():
    """A trace that holds the events of earlier snapshots."""
    torch = torch_cuda()
    record(torch)
    kept = [torch.empty(1000, device="cuda")]
    snapshot_of(torch)
    kept.append(torch.empty(2000, device="cuda"))
    snapshot_of(torch)
    kept.pop(0)
    return {"snapshot_events": snapshot_of(torch)}


@scenario()
def skipped_actions():
    """skip_actions: frees that complete without having been requested."""
    torch = torch_cuda()
    record(torch, skip_actions=["free_requested", "segment_alloc"])
    kept = [torch.empty(500_000, dtype=torch.uint8, device="cuda") for _ in range(8)]
    del kept[::2]
    return {"skipped_actions": snapshot_of(torch)}


@scenario()
def compiled():
    """compile_context: regions of torch.compile (with a backend that compiles nothing)."""
    torch = torch_cuda()
    record(torch, compile_context=True)

    @torch.compile(backend="eager")
    def double(x):
        return torch.nn.functional.gelu(x + x)

    kept = double(torch.zeros(1000, device="cuda"))
    snapshot = snapshot_of(torch)
    del kept
    return {"compiled": snapshot}


@scenario()
def forward_frames():
    """Anomaly mode: allocations of the backward pass carry the forward stack."""
    torch = torch_cuda()
    record(torch)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        weight = torch.zeros(1000, device="cuda", requires_grad=True)
        torch.nn.functional.gelu(weight * 2).sum().backward()
    return {"forward_frames": snapshot_of(torch)}


@scenario()
def fx_frames():
    """augment_with_fx_traces: frames of generated code with their fx node."""
    torch = torch_cuda()
    record(torch)

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.gelu(x + x) * x

    with torch.fx.traceback.preserve_node_meta():
        traced = torch.fx.symbolic_trace(Model())
    if hasattr(torch.fx.experimental, "_config"):
        torch.fx.experimental._config.enrich_profiler_metadata = True
        traced.recompile()
    kept = traced(torch.zeros(1000, device="cuda"))
    snapshot = snapshot_of(torch, augment_with_fx_traces=True)
    del kept
    return {"fx_frames": snapshot}


@scenario()
def cpp_pickler():
    """The C++ producer: torch::cuda::_memory_snapshot_pickled(), protocol 2, called by its mangled name."""
    torch = torch_cuda()
    record(torch)
    layers = gelu_layers(torch, 2, 64)
    train_step(torch, layers, torch.zeros(64, 64, device="cuda"))
    return {"cpp_pickler": cpp_bytes(torch)}


def cpp_bytes(torch):
    library = ctypes.CDLL(str(pathlib.Path(torch.__file__).parent / "lib" / "libtorch_cuda.so"))
    try:
        function = library["_ZN5torch4cuda24_memory_snapshot_pickledB5cxx11Ev"]
    except AttributeError:
        try:
            function = library["_ZN5torch4cuda24_memory_snapshot_pickledEv"]
        except AttributeError as error:
            raise Skip(str(error)) from error
    # A std::string returned by value: the caller passes room for it. The C++11 one begins with pointer
    # and length; the older one is a pointer to the text, whose length stands 24 bytes before it.
    string = (ctypes.c_size_t * 4)()
    function.restype = None
    function(ctypes.byref(string))
    if "cxx11" in function.__name__:
        return ctypes.string_at(string[0], string[1])
    length = ctypes.c_size_t.from_address(string[0] - 24).value
    return ctypes.string_at(string[0], length)


@scenario()
def list_and_protocols():
    """torch.cuda.memory_snapshot()'s bare list, and pickle protocol 5 as Python 3.14 writes it."""
    torch = torch_cuda()
    record(torch)
    kept = [torch.empty(3000 * (i + 1), device="cuda") for i in range(3)]
    snapshot = snapshot_of(torch)
    result = {"memory_snapshot_list": torch.cuda.memory_snapshot(), "protocol5": ("protocol", 5, snapshot)}
    del kept
    return result


def large(folder, allocations):
    """Several hundred MB: 1.5 million events with stacks of some forty frames. Never committed."""
    torch = torch_cuda()
    record(torch, max_entries=1 << 30)
    kept = []

    def at_depth(depth, i):
        if depth:
            return at_depth(depth - 1, i)
        return torch.empty((i * 7919) % 50_000 + 1, dtype=torch.uint8, device="cuda")

    for i in range(allocations):
        kept.append(at_depth(20 + i % 20, i))
        if len(kept) > 2000:
            kept.pop((i * 104_729) % len(kept))
    path = pathlib.Path(folder) / "large.pickle"
    torch.cuda.memory._dump_snapshot(str(path))
    print(f"{path.stat().st_size:12} {path}")


# ---- running and writing ------------------------------------------------------------------------


def finish(name, value):
    """Tidies a snapshot and pickles it as its producer would."""
    protocol = None
    if isinstance(value, tuple) and value[0] == "protocol":
        _, protocol, value = value
    cpp = isinstance(value, bytes)
    if cpp:
        # A text of the same length leaves every length and memo number unchanged.
        return hide_in_bytes(value)
    as_list = isinstance(value, list)
    snapshot = {"segments": value} if as_list else value
    tidy.hide_places(snapshot, str(HERE))
    tidy.cut_stacks(snapshot, 14, 4)
    return pickle.dumps(snapshot["segments"] if as_list else snapshot, protocol=protocol)


def hide_in_bytes(data):
    """Replaces every personal folder in a pickle of the C++ producer and adjusts its BINUNICODE lengths."""
    out, position = bytearray(), 0
    import pickletools

    for opcode, argument, start in pickletools.genops(data):
        if opcode.name != "BINUNICODE":
            continue
        text = tidy.hide_text(argument, str(HERE)).encode()
        old = len(argument.encode("utf-8", "surrogatepass"))
        out += data[position : start + 1] + len(text).to_bytes(4, "little") + text
        position = start + 5 + old
    return bytes(out + data[position:])


def run_one(name, folder):
    """In the child process: runs a scenario and writes its files."""
    try:
        results = SCENARIOS[name]()
    except Skip as reason:
        print(f"skipped {name}: {reason}")
        return 0
    except Exception as error:  # noqa: BLE001 - whatever this torch lacks, the other scenarios go on
        print(f"skipped {name}: {type(error).__name__}: {str(error).splitlines()[:1]}")
        return 0
    for file, value in results.items():
        data = tidy.check_clean(finish(file, value), file)
        (folder / f"{file}.pickle").write_bytes(data)
        print(f"{len(data):8} {file}.pickle")
    sys.stdout.flush()
    os._exit(0)  # tensors of a made-up device need no tidy end


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--large", type=pathlib.Path)
    parser.add_argument("--allocations", type=int, default=500_000, help="for --large; 500000 give about 1.5 million events")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list:
        for name, function in SCENARIOS.items():
            print(f"{name:20} {function.__doc__.splitlines()[0]}")
        return 0
    if options.run:
        return run_one(options.run, options.out)
    if options.large:
        large(options.large, options.allocations)
        return 0
    import torch

    version = torch.__version__.split("+")[0]
    folder = options.out or HERE.parent / "fixtures" / f"torch-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in options.only or SCENARIOS:
        with tempfile.TemporaryDirectory() as scratch:
            environment = {**os.environ, **ENVIRONMENT[name]}
            command = [sys.executable, __file__, "--run", name, "--out", str(folder.resolve())]
            try:
                child = subprocess.run(command, env=environment, cwd=scratch, timeout=300, capture_output=True, text=True, check=False)
            except subprocess.TimeoutExpired:
                print(f"skipped {name}: took more than five minutes")
                continue
        print(child.stdout, end="")
        if child.returncode != 0:
            print(f"skipped {name}: ended with {child.returncode}: {child.stderr.strip().splitlines()[-1:]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
