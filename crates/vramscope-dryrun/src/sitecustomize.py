"""Makes torch record from a process's first use of CUDA, and writes its snapshot at the end.

`vramscope dry-run` loads this before a program. Each process that used CUDA writes PID.pickle into the run's folder: when it
ends, at the first request that fails, at SIGTERM, and before the program itself starts or ends a recording, which would
discard this one. The file with the highest peak is kept.
"""

import importlib.abc
import importlib.util
import os
import re
import sys

FOLDER = os.environ.get("VRAMSCOPE_DRY_RUN")


class Recorder:
    def __init__(self, torch):
        self.torch, self.kept, self.restarted, self.failed = torch, None, False, False

    def start(self):
        """CUDA is initialised: everything is recorded from now on."""
        import atexit
        import signal
        import threading

        backend = getattr(self.torch.cuda.memory, "get_allocator_backend", lambda: "native")()
        if backend != "native":
            print(f"vramscope dry-run: PyTorch cannot record the allocator {backend}: leave backend: out of PYTORCH_CUDA_ALLOC_CONF", file=sys.stderr)
            return
        self.pid = os.getpid()
        self.record = self.torch.cuda.memory._record_memory_history
        self.restart()
        self.torch.cuda.memory._record_memory_history = self.programs_own
        self.torch._C._cuda_attach_out_of_memory_observer(self.at_failure)
        atexit.register(self.keep, "end")
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self.at_sigterm)

    def restart(self):
        self.record("all", context="all", stacks="python", max_entries=1_000_000)

    def programs_own(self, enabled="all", *arguments, **named):
        """The program records by itself: its file is as on a card, and ours continues where its recording ends."""
        self.keep("recorder")
        self.restarted = True
        # On a card, its file has nothing from before its recording.
        self.record(None)
        self.record(enabled, *arguments, **named)
        if enabled is None or enabled is False:
            self.restart()

    def at_failure(self, *_):
        if not self.failed:
            self.keep("oom")
        # If this ends the program, all live memory is freed before its end.
        self.failed = True

    def at_sigterm(self, number, _):
        import signal

        self.keep("sigterm")
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def peaks(self):
        """Highest active and reserved bytes of each device, and the number of failed requests."""
        peaks = {}
        for device in range(self.torch.cuda.device_count()):
            stats = self.torch.cuda.memory_stats(device)
            if stats:
                names = ("active_bytes.all.peak", "reserved_bytes.all.peak", "num_ooms")
                peaks[str(device)] = [stats[name] for name in names]
        return peaks

    def keep(self, why):
        if os.getpid() != self.pid:
            return
        peaks = self.peaks()
        highest = max((active for active, _, _ in peaks.values()), default=0)
        # The current recording does not contain this peak, or also contains its end.
        if (self.restarted or self.failed) and self.kept is not None and highest <= self.kept:
            return
        import ctypes
        import pickle

        read_back = (ctypes.c_ulonglong * 2)()
        invented = (ctypes.c_ulonglong * 4)()
        ctypes.CDLL(None).standin_read_back(read_back)
        ctypes.CDLL(None).standin_invented(invented)
        snapshot = self.torch.cuda.memory._snapshot()
        snapshot["dry_run"] = {
            "note": "dry run: nothing was computed",
            "card": os.environ.get("STANDIN_NAME"),
            "total_memory": int(os.environ.get("STANDIN_TOTAL_BYTES", 0)),
            "context_bytes": int(os.environ.get("STANDIN_CONTEXT_BYTES", 0)),
            "torch": str(self.torch.__version__),
            "rank": os.environ.get("RANK"),
            "taken_at": why,
            "peaks": peaks,
            "read_back": list(read_back),
            "invented": list(invented),
        }
        path = os.path.join(FOLDER, f"{self.pid}.pickle")
        with open(path + ".new", "wb") as file:
            pickle.dump(snapshot, file, protocol=4)
        os.replace(path + ".new", path)
        self.kept = highest


class Peers:
    """The other ranks: each contributes the same as this one."""

    def __init__(self, distributed):
        self.distributed = distributed
        self.world = int(os.environ["WORLD_SIZE"])
        for name in ("init_process_group", "new_group"):
            plain = getattr(distributed.distributed_c10d, name)
            for module in (distributed, distributed.distributed_c10d):
                setattr(module, name, self.without_gloo(plain))
        # DDP compares the ranks' models, which are equal by definition; kernels would compute the answers (torch 2.15).
        distributed._verify_params_across_processes = lambda *_, **__: True
        handlers = sys.modules["torch.distributed.rendezvous"]._rendezvous_handlers
        handlers["env"] = handlers["tcp"] = self.meet

    def without_gloo(self, plain):
        """Collectives of the host would look for other processes."""

        def named(*arguments, **options):
            import torch.testing._internal.distributed.fake_pg  # noqa: F401, what registers the backend

            arguments = [word.replace("gloo", "fake") if isinstance(word, str) else word for word in arguments]
            backend = options.get("backend")
            if isinstance(backend, str):
                options["backend"] = backend.replace("gloo", "fake")
            elif not arguments and plain.__name__ == "init_process_group":
                options["backend"] = "cpu:fake,cuda:nccl"
            return plain(*arguments, **options)

        return named

    def meet(self, *_, **__):
        world, plain = self.world, self.distributed.Store

        class Store(plain):
            def __init__(self):
                super().__init__()
                self.values = {}

            def set(self, key, value):
                self.values[key] = value if isinstance(value, bytes) else value.encode()

            def get(self, key):
                return self.values.get(key, b"\7" * 128)

            def add(self, _, __):
                return world

            def wait(self, *_):
                pass

            def check(self, keys):
                return all(key in self.values for key in keys)

            def set_timeout(self, _):
                pass

            def delete_key(self, key):
                return self.values.pop(key, None) is not None

        # torch holds the C++ object, but without this one it has no methods.
        self.store = Store()
        yield self.store, int(os.environ["RANK"]), world


def unusable(why):
    """Notes it for the command, which reports it if nothing was recorded."""
    with open(os.path.join(FOLDER, f"{os.getpid()}.unusable"), "w") as file:
        file.write(why)


def prepare_torch(spec):
    """Passes the versions of CUDA, cuDNN and NCCL for which this torch was built to the stand-in, before it is loaded."""
    with open(os.path.join(os.path.dirname(spec.origin), "version.py")) as file:
        text = file.read()

    def written(name):
        found = re.search(rf"^{name}\b[^=\n]*=\s*['\"]([^'\"]+)", text, re.MULTILINE)
        return found.group(1) if found else ""

    def numbers(version):
        return [int(number) for number in re.findall(r"\d+", version)[:3]] + [0, 0, 0]

    def needed(library):
        import importlib.metadata

        try:
            for line in importlib.metadata.requires("torch") or []:
                found = re.match(rf"nvidia-{library}-cu\d+\s*\(?==\s*([\d.]+)", line)
                if found:
                    return numbers(found.group(1))
        except importlib.metadata.PackageNotFoundError:
            pass
        return numbers("")

    version, install = written("__version__"), f"{sys.executable} -m pip install"
    plain = version.split("+")[0]
    if not written("cuda"):
        unusable(
            f"torch {version} is built without CUDA, so its allocator for GPUs is not there. Install the build for CUDA, whose NVIDIA "
            f"packages are not needed: {install} --no-deps --force-reinstall torch=={plain} (from PyPI)"
        )
        os._exit(1)
    if numbers(plain)[:2] < [2, 1]:
        unusable(f"torch {version} is older than 2.1, whose recorder a dry run needs: {install} --upgrade torch")
        os._exit(1)
    cuda, cudnn, nccl = numbers(written("cuda")), needed("cudnn"), needed("nccl")
    known = {
        "CUDA": cuda[0] * 1000 + cuda[1] * 10,
        "CUDNN": cudnn[0] * (10000 if cudnn[0] > 8 else 1000) + cudnn[1] * 100 + cudnn[2],
        "NCCL": nccl[0] * 10000 + nccl[1] * 100 + nccl[2],
    }
    os.environ.update({f"STANDIN_{name}": str(version) for name, version in known.items() if version})


def prepare_cuda(module):
    recorder = Recorder(sys.modules["torch"])
    module._lazy_call(recorder.start)


def prepare_distributed(module):
    if os.environ.get("VRAMSCOPE_DRY_RUN_PEERS") and module.is_available():
        module.vramscope_peers = Peers(module)


def prepare_weights(module):
    import vramscope_weights

    vramscope_weights.prepare(module)


def prepare_generation(module):
    """Whether a text has ended would be read from the device, and so be invented: each continues to its maximum length."""
    is_longest = [False]
    mixin, criterion = module.GenerationMixin, module.MaxLengthCriteria
    plain_has, plain_call = mixin._has_unfinished_sequences, criterion.__call__

    def has_unfinished(self, _, *arguments, **named):
        ended, is_longest[0] = is_longest[0], False
        return plain_has(self, ended, *arguments, **named)

    def call(self, input_ids, scores, **named):
        is_longest[0] = input_ids.shape[-1] >= self.max_length
        return plain_call(self, input_ids, scores, **named)

    mixin._has_unfinished_sequences, criterion.__call__ = has_unfinished, call


def nothing(_):
    pass


class Finder(importlib.abc.MetaPathFinder):
    """Prepares some modules before and after they are imported."""

    prepare = {
        "torch": (prepare_torch, nothing),
        "torch.cuda": (nothing, prepare_cuda),
        "torch.distributed": (nothing, prepare_distributed),
        "transformers.generation.utils": (nothing, prepare_generation),
        "transformers.modeling_utils": (nothing, prepare_weights),
        "diffusers.models.modeling_utils": (nothing, prepare_weights),
    }
    looking_for = None

    def find_spec(self, name, path, target=None):
        if name not in self.prepare or name == self.looking_for:
            return None
        earlier, self.looking_for = self.looking_for, name
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.looking_for = earlier
        if spec is None or not spec.origin:
            if name == "torch":
                unusable(f"{sys.executable} has no torch: install one built for CUDA, {sys.executable} -m pip install torch")
            return None
        before, after = self.prepare[name]
        plain = spec.loader.exec_module

        def exec_module(module):
            before(spec)
            plain(module)
            after(module)

        spec.loader.exec_module = exec_module
        return spec


def go_on():
    """The user's own sitecustomize, which this one hides."""
    here = os.path.dirname(os.path.abspath(__file__))
    kept, sys.path[:] = sys.path[:], [folder for folder in sys.path if os.path.abspath(folder) != here]
    mine = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # noqa: F401
    except ImportError:
        pass
    finally:
        sys.path[:] = kept
        # Importers of this module look for it there.
        sys.modules.setdefault("sitecustomize", mine)


def check():
    """Without the stand-in the program would use a real GPU."""
    import ctypes

    if not hasattr(ctypes.CDLL(None), "standin_read_back"):
        print("vramscope dry-run: the stand-in for CUDA could not be preloaded, so the program is not started", file=sys.stderr)
        os._exit(1)


if FOLDER:
    check()
    sys.meta_path.insert(0, Finder())
go_on()
