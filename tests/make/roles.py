"""Records programs of the other role_*.py together with the purpose of each of their allocations.

    PYTHON=venv/bin/python SCRIPT=roles.py sh tests/make/standin.sh [--only NAME...] [--out FOLDER] [--keep]

Writes NAME.pickle.zst, a snapshot as a user would take it, and NAME.csv.zst, the truth beside it, to
tests/fixtures/roles/rules or tests/fixtures/roles/measured. Within each kind of program, in their order,
the first, third, fifth ... go to `rules`, the others to `measured`. Authors of rules for roles may look at
`rules` only; the quality of the rules is their result on `measured`.

With `--keep` the snapshots stay as they are, and only the truth about them is written again.

Each program runs twice, in separate processes. The first run is recorded without being watched. The second
is watched (hooks of autograd and of modules, the stand-in libraries), and addresses are written down. The
allocator must do exactly the same in both, event by event, or the script stops.

A row of the truth is `address,moment,bytes,role`: the allocation of this many requested bytes that is at the address
after `moment` events of the trace. For a program on several devices it is about device 0.

| role | what |
| --- | --- |
| parameter | parameters and buffers of modules, second models' too; the rank's shard of them; what is gathered of them to compute with, and autocast's casts of them |
| gradient | what `.grad` holds, from its birth on, be it a view into a bucket or a shard as it was received |
| optimizer_state | tensors in `optimizer.state`, and the copies of the parameters in full precision that an optimizer keeps beside those of the model |
| activation | what autograd saved for backward, keys and values in a loop that trains, checkpoints' inputs and what is computed again included; outputs that live longer than the forward pass |
| input | batches and labels |
| kv_cache | keys and values kept between generated tokens |
| workspace | what cuBLAS and cuDNN were handed as such |
| communication | what a collective sends or receives, and buckets |
| temporary | all else that is born and freed within one phase; gradients of activations, too |

Some are named by two roles, joined by `|`, and either is right. These are all, each with the reason:

- `gradient|temporary`: a parameter's gradient that is added to `.grad`, or reduced to a shard of it, and dropped in the same phase.
  It is a gradient to whoever wrote the program, and `.grad` of the parameter never holds it.
- `communication|gradient`: DeepSpeed's bucket, through which the gradients of all parameters pass in turn. `.grad` is a view
  of it until the bucket is reduced, and then it serves other parameters.
- `communication|parameter`: the very memory that a collective receives and modules compute with.
- `parameter|temporary`: autocast's casts that are freed in the phase that made them.
- `temporary|workspace`: a workspace freed in the phase in which it was made, where stacks show no library (`stacks="python"`).
- `activation|temporary`: what is computed without autograd. Nothing is kept for a backward pass, and people use both words.

That an optimizer's own copies of parameters are its state is what ZeRO's authors and DeepSpeed's documentation say. That casts
of parameters are no activations, though autograd saves them, is what torch's own profiler says: an activation depends on an input.

An allocation that fits none of these has no row; this may concern at most 2 % of the bytes at the peak.
"""

import argparse
import bisect
import ctypes
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

import tidy

HERE = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = {"STANDIN_TOTAL_BYTES": str(80 << 30), "STANDIN_DEVICES": "1", "STANDIN_CAPABILITY": "80"}


class Run:
    """A program's reports about itself while it runs. They are ignored in this, the recorded run."""

    watched = False

    def __init__(self, stacks):
        self.stacks = stacks

    def record(self, newest=100_000):
        """From now on the allocator records, and keeps the newest events."""
        import torch

        torch.cuda.memory._record_memory_history(max_entries=newest, stacks=self.stacks)

    def model(self, model, optimizer=None, gathered=False):
        """Whose parameters, gradients and states are to be noted, and whether other ranks have parts of
        them. They live until the end."""
        self.kept = model, optimizer

    def also(self, role, tensors_of):
        """More tensors of that role, queried whenever a phase begins and whenever a gradient is complete."""

    def phase(self, name):
        """What begins now: setup, forward, backward, optimizer or inference."""

    def note(self, role, *tensors):
        """The role of these tensors."""


class Noted(Run):
    """The same run, watched: `notes` are (address, events so far, role), `phases` (events so far, name)."""

    watched = True

    def __init__(self, stacks):
        super().__init__(stacks)
        self.notes, self.phases = set(), [(0, "setup")]
        self.device_of = ctypes.CDLL(None).standin_device_of
        self.before = None
        self.parameters, self.optimizers, self.more = [], [], []
        self.parameter_places, self.full_shapes, self.hooked = set(), set(), set()
        self.listen()

    def counted(self):
        """How many events the allocator would have recorded since its creation, had it recorded all."""
        import torch

        stats = torch._C._cuda_memoryStats(0)
        kinds = [("allocation", "allocated"), ("allocation", "freed"), ("active", "freed"), ("segment", "allocated"), ("segment", "freed")]
        return sum(stats[what]["all"][which] for what, which in kinds)

    def events(self):
        return self.counted() - self.before

    def record(self, newest=100_000):
        super().record(newest)
        self.before = self.counted()
        self.sweep(True)

    def note_address(self, role, address):
        if self.before is not None and self.device_of(ctypes.c_ulonglong(address)) == 0:
            self.notes.add((address, self.events(), role))

    def note(self, role, *tensors):
        for tensor in tensors:
            tensor = getattr(tensor, "_local_tensor", tensor)
            if tensor.device.type == "cuda" and tensor.untyped_storage().nbytes():
                self.note_address(role, tensor.untyped_storage().data_ptr())

    def model(self, model, optimizer=None, gathered=False):
        import torch

        super().model(model, optimizer)
        self.parameters = [*model.parameters(), *model.buffers()]
        self.optimizers = [optimizer] if optimizer else []
        for parameter in self.parameters:
            local = getattr(parameter, "_local_tensor", parameter)
            if local.dtype == torch.float32:
                self.full_shapes |= {tuple(local.shape), tuple(local.shape[::-1])}
            self.watch_gradient(parameter)
        for module in model.modules() if gathered else []:
            module.register_forward_pre_hook(self.before_forward)

    def before_forward(self, module, _):
        """What a module computes with: its parameters, or what was gathered for it."""
        for parameter in module._parameters.values():
            if parameter is not None and parameter.untyped_storage().data_ptr() not in self.parameter_places:
                self.note("gathered", parameter)
                self.watch_gradient(parameter)

    def watch_gradient(self, parameter):
        if parameter.requires_grad and parameter.is_leaf and id(parameter) not in self.hooked:
            self.hooked.add(id(parameter))
            parameter.register_hook(lambda gradient: self.note("contribution", gradient))
            parameter.register_post_accumulate_grad_hook(lambda parameter: self.sweep_gradients([parameter]))

    def also(self, role, tensors_of):
        self.more.append((role, tensors_of))

    def sweep_gradients(self, parameters):
        for parameter in parameters:
            if parameter.grad is not None:
                self.note("gradient" if any(parameter is mine for mine in self.parameters) else "contribution", parameter.grad)
        for role, tensors_of in self.more:
            self.note(role, *tensors_of())

    def sweep(self, parameters):
        if parameters:
            self.note("parameter", *self.parameters)
            self.parameter_places = {getattr(p, "_local_tensor", p).untyped_storage().data_ptr() for p in self.parameters}
        self.sweep_gradients(self.parameters)
        for optimizer in self.optimizers:
            for state in optimizer.state.values():
                self.note("optimizer_state", *(value for value in state.values() if hasattr(value, "untyped_storage")))

    def phase(self, name):
        # While forward or backward runs, a wrapped model's parameters may be the gathered ones.
        self.sweep(name in ("forward", "setup", "inference"))
        if self.before is not None:
            self.phases.append((self.events(), name))

    def forget(self, events):
        """The trace has lost its oldest events: what was noted then is left out."""
        self.notes = {(address, moment - events, role) for address, moment, role in self.notes if moment >= events}
        self.phases = [(max(moment - events, 0), name) for moment, name in self.phases]

    def saved(self, tensor):
        # Of a parameter's shape, and of half its precision: a cast of it.
        is_cast = tensor.element_size() == 2 and tuple(tensor.shape) in self.full_shapes
        self.note("copy" if is_cast else "saved", tensor)
        return tensor

    def listen(self):
        """Hooks on autograd, on checkpoints and on the stand-in libraries."""
        import torch
        from torch.autograd.graph import saved_tensors_hooks
        from torch.utils import checkpoint

        plain = saved_tensors_hooks.__init__

        def init(hooks, pack, unpack):
            # Checkpoints drop their inputs here, and keep what they compute again.
            dropped = isinstance(hooks, checkpoint._checkpoint_hook)
            plain(hooks, pack if dropped else lambda tensor: pack(self.saved(tensor)), unpack)

        saved_tensors_hooks.__init__ = init
        saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor).__enter__()
        listener = ctypes.CFUNCTYPE(None, ctypes.c_ulonglong)
        self.listeners = [listener(lambda address: self.note_address("workspace", address)), listener(lambda address: self.note_address("communication", address))]
        library = ctypes.CDLL(None)
        library.standin_on_workspace(self.listeners[0])
        library.standin_on_collective(self.listeners[1])
        self.listen_to_gloo(torch.distributed)
        self.listen_to_fsdp()
        self.listen_to_moves(torch.nn.Module)

    def listen_to_moves(self, module_class):
        """Parameters when they arrive on the device, before they are flattened or sharded."""
        plain = module_class._apply

        def noting(module, *arguments, **named):
            moved = plain(module, *arguments, **named)
            self.note("parameter", *module.parameters(recurse=False), *module.buffers(recurse=False))
            return moved

        module_class._apply = noting

    def listen_to_gloo(self, distributed):
        for name in ("all_gather_into_tensor", "reduce_scatter_tensor", "all_reduce", "broadcast"):
            plain = getattr(distributed, name)

            def noting(*arguments, plain=plain, **named):
                self.note("communication", *(value for value in (*arguments, *named.values()) if hasattr(value, "untyped_storage")))
                return plain(*arguments, **named)

            setattr(distributed, name, noting)
        distributed._all_gather_base = distributed.all_gather_into_tensor

    def listen_to_fsdp(self):
        """What is gathered for a backward pass, in which no module runs."""
        from torch.distributed.fsdp._flat_param import FlatParamHandle
        from torch.distributed.fsdp._fully_shard._fsdp_param import FSDPParam

        use, to_unsharded = FlatParamHandle._use_unsharded_flat_param, FSDPParam.to_unsharded

        def noting_use(handle, gathered):
            self.note("gathered", gathered)
            return use(handle, gathered)

        def noting_to_unsharded(parameter):
            to_unsharded(parameter)
            self.note("gathered", parameter._unsharded_param)

        FlatParamHandle._use_unsharded_flat_param, FSDPParam.to_unsharded = noting_use, noting_to_unsharded


# ---- from notes to the truth --------------------------------------------------------------------


class Allocation:
    def __init__(self, address, bytes, born):
        self.address, self.bytes, self.born, self.died = address, bytes, born, None
        self.noted = set()


def allocations_of(snapshot):
    """All allocations of device 0; `born` and `died` are moments, 0 what was there when recording began."""
    trace = snapshot["device_traces"][0]
    live, done = {}, []
    late = []
    for moment, event in enumerate(trace, 1):
        if event["action"] == "alloc":
            live[event["addr"]] = Allocation(event["addr"], event["size"], moment)
        elif event["action"] == "free_completed":
            allocation = live.pop(event["addr"], None) or Allocation(event["addr"], event["size"], 0)
            allocation.died = moment
            done.append(allocation)
    for segment in snapshot["segments"]:
        for block in segment["blocks"] if segment["device"] == 0 else []:
            if block["state"].startswith("active") and block["address"] not in live:
                late.append(Allocation(block["address"], block["requested_size"], 0))
    return sorted([*done, *live.values(), *late], key=lambda one: (one.born, one.address))


def assign(allocations, notes):
    """Gives each note to the allocation that was live then and there."""
    by_address = {}
    for one in allocations:
        by_address.setdefault(one.address, []).append(one)
    addresses = sorted(by_address)
    for address, moment, role in sorted(notes):
        at = bisect.bisect_right(addresses, address) - 1
        # Views into a buffer are noted by the buffer; only libraries are handed places within one.
        while at >= 0:
            fitting = [one for one in by_address[addresses[at]] if one.born <= moment and (one.died is None or moment < one.died)]
            if fitting:
                break
            at -= 1
        if at < 0 or not addresses[at] <= address < addresses[at] + max(fitting[0].bytes, 1):
            sys.exit(f"nothing lies at {address:#x} after {moment} events, noted as {role}")
        fitting[0].noted.add(role)


def role_of(allocation, phases, stacks):
    """The role, two joined by `|`, or None: see the head of this file."""
    noted = allocation.noted
    name, within = phase_of(allocation, phases)
    for alone in ("parameter", "input", "optimizer_state"):
        if alone in noted:
            return alone
    if "workspace" in noted:
        return "temporary|workspace" if stacks == "python" and allocation.died is not None else "workspace"
    if "bucket" in noted:
        return "communication|gradient"
    if "gradient" in noted:
        return "gradient"
    if "gathered" in noted:
        return "communication|parameter" if "communication" in noted else "parameter"
    if "contribution" in noted:
        return "gradient|temporary"
    if "communication" in noted:
        return "communication"
    if "copy" in noted:
        return "parameter|temporary" if within else "parameter"
    if "saved" in noted:
        return "activation"
    if "kv_cache" in noted:
        return "kv_cache"
    if not allocation.born:
        return None
    if name == "inference":
        return "activation|temporary"
    if within:
        return "temporary"
    return "activation" if name == "forward" else None


def phase_of(allocation, phases):
    """The name of the phase that made it, and whether that phase freed it."""
    # Its alloc event belongs to the phase that began before it.
    at = bisect.bisect_right([start for start, _ in phases], max(allocation.born - 1, 0)) - 1
    following = phases[at + 1][0] if at + 1 < len(phases) else None
    within = allocation.born and allocation.died is not None and (following is None or allocation.died <= following)
    return phases[at][1], within


def truth(snapshot, notes, phases, stacks):
    """Every allocation with its role."""
    allocations = allocations_of(snapshot)
    assign(allocations, notes)
    return [(one, role_of(one, phases, stacks)) for one in allocations]


def peak_of(rows, events):
    """Bytes by role at the moment of the highest sum, for the report."""
    changes = [0] * (events + 2)
    for one, _ in rows:
        changes[one.born] += one.bytes
        if one.died is not None:
            changes[one.died] -= one.bytes
    sums, now = [], 0
    for change in changes:
        now += change
        sums.append(now)
    peak = max(range(len(sums)), key=sums.__getitem__)
    held = {}
    for one, role in rows:
        if one.born <= peak and (one.died is None or peak < one.died):
            held[role or "(none)"] = held.get(role or "(none)", 0) + one.bytes
    return peak, held


# ---- running ------------------------------------------------------------------------------------


def run_one(name, noted, out):
    import random

    import torch

    torch.manual_seed(0)
    random.seed(0)
    torch.cuda.init()
    program = programs()[name]
    run = (Noted if noted else Run)(program.stacks)
    kept = program.function(run)
    found = run.events() if noted else None
    snapshot = torch.cuda.memory._snapshot()
    trace = [event for event in snapshot["device_traces"][0] if event["action"] != "snapshot"]
    snapshot["device_traces"][0][:] = trace
    if noted:
        run.forget(found - len(trace))
    if program.story:
        tidy.leave_out_frames(snapshot, str(HERE))
    tidy.hide_places(snapshot, str(HERE))
    if program.folder:
        # As if the program and its packages were there.
        tidy.replace_texts(snapshot, lambda text: re.sub("^(/home/user|/opt)/", rf"/home/user/{program.folder}/", text))
    value = (snapshot, run.notes, run.phases) if noted else snapshot
    out.write_bytes(pickle.dumps(value))
    sys.stdout.flush()
    os._exit(0 if kept is not False else 1)


def sequence(snapshot):
    """What the allocator did. What is freed at once (autocast's copies) goes in an order that differs from run to run."""
    events, frees = [], []
    for event in snapshot["device_traces"][0]:
        known = (event["action"], event["addr"], event["size"], event["stream"])
        if event["action"].startswith("free"):
            frees.append(known)
        else:
            events += [*sorted(frees), known]
            frees = []
    return events + sorted(frees)


def programs():
    """All programs, in the order that divides them."""
    # Each registers its own after those before it.
    import role_programs  # noqa: I001
    import role_transformers  # noqa: F401
    import role_loops  # noqa: F401
    import role_libraries  # noqa: F401
    import role_vllm  # noqa: F401

    return role_programs.PROGRAMS


def in_process(name, noted, scratch):
    out = pathlib.Path(scratch) / ("noted" if noted else "recorded")
    command = [sys.executable, __file__, "--run", name, "--to", str(out)] + ["--noted"] * noted
    # The names in the watched run's stacks are not used, and the precise way to find them takes long.
    symbols = "dladdr" if noted else programs()[name].symbols
    environment = {**os.environ, **ENVIRONMENT, **programs()[name].environment, "TORCH_SYMBOLIZE_MODE": symbols}
    child = subprocess.run(command, env=environment, cwd=scratch, timeout=300, capture_output=True, text=True, check=False)
    if child.returncode != 0:
        print(f"{name} ended with {child.returncode}:\n{child.stdout[-1000:]}{child.stderr[-3000:]}")
        return None
    return out.read_bytes()


def recorded_and_watched(name, kept):
    """The undisturbed run's pickle, `kept` if that is one, and what the watched run gave; None if they differ or one of them failed."""
    # Gloo's own thread frees what it has sent, sooner or later.
    for _ in range(12 if kept else 5):
        with tempfile.TemporaryDirectory() as scratch:
            data = kept or in_process(name, False, scratch)
            noted = data and in_process(name, True, scratch)
        if not noted:
            return None
        watched = pickle.loads(noted)
        first, second = sequence(pickle.loads(data)), sequence(watched[0])
        if first == second:
            return data, watched
        at = next((i for i, (one, other) in enumerate(zip(first, second)) if one != other), min(len(first), len(second)))
        print(f"{name}: watching it changed event {at} of {len(first)}: {first[at : at + 1]} {second[at : at + 1]}")
    return None


def make(name, folder, keep):
    import zstandard

    path = folder / f"{name}.pickle.zst"
    kept = zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes()) if keep else None
    runs = recorded_and_watched(name, kept)
    if runs is None:
        return
    data, (watched, notes, phases) = runs
    events = len(watched["device_traces"][0])
    rows = truth(watched, notes, phases, programs()[name].stacks)
    peak, held = peak_of(rows, events)
    total = sum(held.values())
    if held.get("(none)", 0) > total * 0.02:
        missing = [(one.bytes, one.born, one.died) for one, role in rows if role is None and one.born <= peak and (one.died is None or peak < one.died)]
        print(f"{name}: {held['(none)'] / total:.1%} of the peak has no role: {sorted(missing)[-5:]} {phases[-4:]}")
        return
    text = "address,moment,bytes,role\n" + "".join(f"{one.address:#x},{one.born},{one.bytes},{role}\n" for one, role in rows if role)
    folder.mkdir(parents=True, exist_ok=True)
    if not keep:
        path.write_bytes(zstandard.ZstdCompressor(level=19).compress(tidy.check_clean(data, name)))
    (folder / f"{name}.csv.zst").write_bytes(zstandard.ZstdCompressor(level=19).compress(text.encode()))
    parts = ", ".join(f"{bytes / total:.1%} {role}" for role, bytes in sorted(held.items(), key=lambda item: -item[1]))
    print(f"{folder.name:8} {name}: {path.stat().st_size} bytes, {events} events, {len(rows)} rows, peak {total / 2**20:.0f} MiB after {peak}: {parts}", flush=True)


def halves(programs):
    """Which half each program is in: within its kind they take turns."""
    seen, result = {}, {}
    for name, program in programs.items():
        count = seen[program.kind] = seen.get(program.kind, -1) + 1
        result[name] = ("rules", "measured")[count % 2]
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent / "fixtures" / "roles")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--keep", action="store_true", help="leave the snapshots as they are")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--to", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--noted", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run_one(options.run, options.noted, options.to)
    for name, half in halves(programs()).items():
        if not options.only or name in options.only:
            make(name, options.out.resolve() / half, options.keep)


if __name__ == "__main__":
    main()
