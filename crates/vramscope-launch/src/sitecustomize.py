"""Records what PyTorch allocates on GPUs, without any change to the program.

Python imports this file at startup because its folder comes first on PYTHONPATH. It calls the original sitecustomize,
waits for torch without importing it, and switches PyTorch's recorder on when a device is first used. It must never harm
the program: nothing is printed, no exception leaves it, and the program's own use of the recorder takes precedence.

Variables (only the first is required):

    VRAMSCOPE_RECORD_FOLDER       where snapshots go: rank3_pid4711.pickle, without a rank pid4711.pickle, in a folder of
                                  the moment if that is not the end: oom_1, step_100
    VRAMSCOPE_RECORD_RUN          where processes report events (PID.json, a line each) and listen (PID.sock: for the
                                  name of a moment, or ? for the bytes that they hold on devices)
    VRAMSCOPE_RECORD_MAX_ENTRIES  maximum number of events stored for each device
    VRAMSCOPE_RECORD_STACKS       all, or python
    VRAMSCOPE_RECORD_STEPS        the optimizer's steps to record, from 1: 10..13, both recorded, or 10..
    VRAMSCOPE_RECORD_EVERY        a file at each step whose number is a multiple of this
    VRAMSCOPE_RECORD_SOURCE       1: with the text of the project's own files, under the key source_code

Every Python reads it, so it must parse in all of them; those before 3.8 only go on to the other sitecustomize.
"""

import os
import sys
import time

_MAX_OOM_FILES = 4
"""A program that catches the error and tries again may fail thousands of times; the first failures say most."""

_PATIENCE_S = 60
"""How long a process that must end waits for its file."""

_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
"""The variables in which launchers pass a process its rank."""

_SOURCE_BYTES = 1 << 20
"""Maximum size of a source file whose text is included."""

_BEGAN = time.time()
_VARIABLE = "VRAMSCOPE_RECORD_"
_HERE = os.path.dirname(os.path.abspath(__file__))


def _option(name):
    return os.environ.get(_VARIABLE + name, "")


def _max_entries():
    return int(_option("MAX_ENTRIES") or 200000)


def _other_sitecustomize():
    """Runs the sitecustomize that Python would have found without this one. Its errors pass, including a missing module."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    ours = [path for path in sys.path if path and os.path.abspath(path) == _HERE]
    for path in ours:
        sys.path.remove(path)
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        raise ImportError("there is no other sitecustomize", name="sitecustomize")
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


class _Torch(object):
    """A module finder that finds nothing itself: it lets the others find torch, and is called once torch is imported."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                self._watch(spec.loader)
                return spec
        return None

    def _watch(self, loader):
        execute = getattr(loader, "exec_module", None)

        def exec_module(module):
            del loader.exec_module
            execute(module)
            _attempt(self._imported, module)

        if execute is not None:
            _attempt(setattr, loader, "exec_module", exec_module)

    def _imported(self, torch):
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            _Recorder(torch).wait()


def _attempt(function, *arguments, **options):
    """The result of a call, or None if it fails, which is reported to the starter of the recording."""
    try:
        return function(*arguments, **options)
    except Exception as problem:
        _tell("problem", text="%s: %s" % (type(problem).__name__, problem))
        return None


def _tell(event, **what):
    """Writes a line to this process's report."""
    run = _option("RUN")
    if not run:
        return
    try:
        import json

        what.update(event=event, pid=os.getpid(), rank=_rank(), program=sys.argv[0] if getattr(sys, "argv", None) else "")
        with open(os.path.join(run, "%d.json" % os.getpid()), "a") as account:
            account.write(json.dumps(what) + "\n")
    except Exception:
        pass


def _rank(known=[]):
    """This process's rank: from torch.distributed, even after that has ended, or from the launcher, or None."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            known[:] = [int(distributed.get_rank())]
    except Exception:
        pass
    if known:
        return known[0]
    for name in _RANKS:
        try:
            return int(os.environ[name])
        except (KeyError, ValueError):
            pass
    return None


def _start_thread(function, *arguments):
    """Does not use `threading`, so the program does not see this thread or wait for it."""
    import _thread

    return _thread.start_new_thread(function, arguments)


def _before(module, name, call):
    """Makes each call of a function call something else first; the function is otherwise unchanged."""
    from functools import wraps

    function = getattr(module, name, None)
    if function is None:
        return

    @wraps(function)
    def both(*arguments, **options):
        _attempt(call, *arguments, **options)
        return function(*arguments, **options)

    setattr(module, name, both)


class _Recorder(object):
    """The recording of this process."""

    def __init__(self, torch):
        self.torch = torch
        self.backend = "cuda"
        self.memory = None
        self.process = None
        """The process that records; one forked from it does not."""
        self.is_on = False
        self.is_theirs = False
        """Whether the program itself has used the recorder, which then belongs to it."""
        self.is_over = False
        self.failures = 0
        self.step = 0
        self.steps_of = None
        first, _, last = _option("STEPS").partition("..")
        self.first = int(first or 1)
        self.last = int(last) if last else None
        self.every = int(_option("EVERY") or 0)
        self.lock = None
        self.is_old = False
        self.switch = None
        self.wakers = ()
        self.is_blocked = False
        self.writing = 0
        self.is_ending = False

    # Before a device is used.

    def wait(self):
        """Makes torch call `begin` when a device is first used, or reports why there is nothing to record."""
        version = self.torch.version
        has = {name: bool(getattr(version, name, None)) for name in ("cuda", "hip", "xpu")}
        self.backend = "xpu" if has["xpu"] and not (has["cuda"] or has["hip"]) else "cuda"
        module = getattr(self.torch, self.backend, None)
        self.memory = getattr(module, "memory", None)
        can = any(has.values()) and hasattr(self.memory, "_record_memory_history") and hasattr(module, "_lazy_call")
        _tell("torch", version=str(getattr(self.torch, "__version__", "")), can=can, npu=hasattr(self.torch, "npu"), **has)
        if can:
            self.switch = self.memory._record_memory_history
            # The program may use the recorder itself: ours ends then.
            _before(self.memory, "_record_memory_history", self._taken_over)
            # The rank is not available once the group has ended.
            _before(getattr(self.torch, "distributed", None), "destroy_process_group", lambda *_, **__: _rank())
            module._lazy_call(self._begin)

    def _taken_over(self, enabled="all", *_, **__):
        if self.is_over or self.process not in (None, os.getpid()):
            return
        if not enabled:
            # This call discards the recording.
            self.finish()
        elif self.is_on:
            self._off()
            _tell("taken_over")
        self.is_theirs = self.is_theirs or bool(enabled)

    # Once a device is used.

    def _begin(self):
        _attempt(self.begin)

    def begin(self):
        """A device is used for the first time in this process."""
        if self.process == os.getpid():
            return
        import atexit
        import threading

        self.process = os.getpid()
        self.lock = threading.RLock()
        _tell("device", backend=self._allocator())
        if not self.is_theirs:
            if _option("STACKS") != "python":
                _attempt(self._unwind_quietly)
            self._on("all" if self.first <= 1 else "state")
        _attempt(self._watch_failures)
        _attempt(self._watch_steps)
        atexit.register(_attempt, self.finish)
        _attempt(self._watch_exit)
        _attempt(self._watch_signals)

    def _unwind_quietly(self):
        """C++ stacks make torch warn about each library without unwind information. A program that turns warnings into
        errors would get errors."""
        import warnings

        for message in ("Did not find a PT_GNU_EH_FRAME segment", "Unsupported unwinding pattern"):
            warnings.filterwarnings("ignore", message)
        gather = getattr(getattr(self.torch._C, "_profiler", None), "gather_traceback", None)
        if gather is not None:
            gather(python=False, script=False, cpp=True)

    def _allocator(self):
        name = getattr(self.memory, "get_allocator_backend", None)
        return str(name()) if name is not None else "native"

    def _on(self, enabled):
        """Starts recording, with this torch version's arguments."""
        from inspect import signature

        entries = _max_entries()
        stacks = _option("STACKS") or "all"
        known = signature(self.switch).parameters
        self.is_old = "trace_alloc_max_entries" in known  # torch 2.0
        if self.is_old:
            whole = enabled == "all"
            options = {"trace_alloc_max_entries": entries if whole else 1, "trace_alloc_record_context": whole}
            if "record_context_cpp" in known and stacks == "all":
                options["record_context_cpp"] = True
            self.switch(True, **options)
        else:
            self.switch(enabled, stacks=stacks, max_entries=entries)
        self.is_on = True

    def _off(self):
        self.is_on = False
        self.switch(False if self.is_old else None)

    def _watch_failures(self):
        for name in ("attach_out_of_memory_observer", "attachOutOfMemoryObserver"):
            attach = getattr(self.torch._C, "_%s_%s" % (self.backend, name), None)
            if attach is not None:
                attach(lambda *_: _attempt(self._failed))
                return

    def _failed(self):
        """A request failed, and nothing is freed yet."""
        if self.failures < _MAX_OOM_FILES and self.process == os.getpid() and not self.is_over:
            self.failures += 1
            self.write("oom_%d" % self.failures)

    def _watch_steps(self):
        if self.first <= 1 and self.last is None and not self.every:
            return
        import weakref

        from torch.optim.optimizer import register_optimizer_step_post_hook

        self.steps_of = weakref.WeakKeyDictionary()
        register_optimizer_step_post_hook(lambda optimizer, *_: _attempt(self._stepped, optimizer))

    def _stepped(self, optimizer):
        """An optimizer has made a step. If there are several optimizers, the one with the most steps counts."""
        self.steps_of[optimizer] = step = self.steps_of.get(optimizer, 0) + 1
        if step <= self.step or self.is_over or self.process != os.getpid():
            return
        self.step = step
        if step == self.first - 1 and not self.is_theirs:
            # The single event stored until now would be the first of the trace.
            self._off()
            self._on("all")
        if self.every and step >= self.first and step % self.every == 0:
            self.write("step_%d" % step)
        if step == self.last:
            self.finish()
            if self.is_on:
                self._off()

    def _watch_exit(self):
        """os._exit runs no handlers; forked processes of multiprocessing end like this."""
        leave = os._exit

        def _exit(status):
            if self.process == os.getpid() and not self.is_over:
                self._finish_soon()
            leave(status)

        os._exit = _exit

    def _watch_signals(self):
        """Listens for requests for a file, in a thread that works while the main one waits for a device; and for SIGTERM,
        if nobody else handles it and this is the main thread."""
        import signal
        import threading

        ears = []
        if _option("RUN"):
            _attempt(self._serve, ears)
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            os.register_at_fork(
                before=lambda: _attempt(self._before_fork),
                after_in_parent=lambda: _attempt(self._after_fork, False),
                after_in_child=lambda: _attempt(self._after_fork, True),
            )
            signal.signal(signal.SIGTERM, self._terminated)
            self._wake()
            ears.extend(self.wakers[1:])
        if ears:
            _start_thread(self._listen, ears)

    def _serve(self, ears):
        import socket

        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(os.path.join(_option("RUN"), "%d.sock" % os.getpid()))
        server.listen(8)
        ears.append(server)

    def _wake(self):
        """Makes signals known while the main thread is in a C call, where no Python handler runs."""
        import signal
        import socket

        inner, outer = socket.socketpair()
        inner.setblocking(False)
        # With the sender's number: a forked process has this socket, too, until it closes it.
        outer.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        before = signal.set_wakeup_fd(inner.fileno(), warn_on_full_buffer=False)
        if before == -1:
            self.wakers = (inner, outer)
        else:
            signal.set_wakeup_fd(before)

    def _before_fork(self):
        """Blocks signals to a child until the child has the handler that it would have without us."""
        import signal

        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        self.is_blocked = signal.SIGTERM not in before

    def _after_fork(self, in_child):
        import signal

        if in_child and self.wakers:
            now = signal.set_wakeup_fd(-1)
            if now not in (-1, self.wakers[0].fileno()):
                signal.set_wakeup_fd(now)
        if in_child and signal.getsignal(signal.SIGTERM) == self._terminated:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if self.is_blocked:
            self.is_blocked = False
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    def _listen(self, ears):
        import select

        while self.process == os.getpid():
            for ear in select.select(ears, [], [])[0]:
                if ear not in self.wakers:
                    _attempt(self._asked, ear)
                elif _attempt(self._woken, ear):
                    _attempt(self._terminated_in_c)

    def _woken(self, ear):
        """Whether this process has got SIGTERM."""
        import signal
        import socket
        import struct

        numbers, told, _, _ = ear.recvmsg(64, socket.CMSG_SPACE(12))
        senders = [struct.unpack("3i", it)[0] for _, kind, it in told if kind == socket.SCM_CREDENTIALS]
        return signal.SIGTERM in bytearray(numbers) and senders == [os.getpid()]

    def _asked(self, server):
        client, _ = server.accept()
        try:
            client.settimeout(5)
            moment = client.recv(256).decode().strip()
            try:
                wanted = str(self._held()) if moment == "?" else self.write(os.path.basename(moment)) or ""
                answer = "ok " + wanted
            except Exception as problem:
                answer = "no %s: %s" % (type(problem).__name__, problem)
            client.sendall(answer.encode())
        finally:
            client.close()

    def _held(self):
        """The bytes that this process has on all devices."""
        module = getattr(self.torch, self.backend)
        return sum(self.memory.memory_allocated(device) for device in range(module.device_count()))

    def _terminated(self, number, _frame):
        self.is_ending = True
        if not self.writing or self.process != os.getpid():
            _attempt(self.finish)
            self._end()

    def _terminated_in_c(self):
        """SIGTERM has arrived. The main thread handles it, unless it is in a long C call."""
        import signal

        time.sleep(1)
        if signal.getsignal(signal.SIGTERM) == self._terminated:
            _attempt(self.finish)
            with self.lock:
                self._end()

    def _end(self):
        """Ends this process as SIGTERM does. Python sets handlers on the main thread only."""
        import ctypes
        import signal

        default = ctypes.CDLL(None).signal
        default.argtypes = (ctypes.c_int, ctypes.c_void_p)
        default(signal.SIGTERM, None)
        os.kill(os.getpid(), signal.SIGTERM)

    # The files.

    def finish(self):
        """The last file of this process."""
        if self.is_over or self.process != os.getpid():
            return
        with self.lock:
            if not self.is_over:
                self.is_over = True
                self.write()

    def _finish_soon(self):
        """Like `finish`, but gives up if that takes too long."""
        import threading

        done = threading.Lock()
        done.acquire()

        def finish():
            _attempt(self.finish)
            done.release()

        if _attempt(_start_thread, finish) is not None:
            done.acquire(timeout=_PATIENCE_S)

    def write(self, moment=""):
        """Writes the recording into the folder of a moment. Returns the path, or None if nothing was allocated."""
        with self.lock:
            self.writing += 1
            try:
                return self._write(moment)
            finally:
                self.writing -= 1
                # SIGTERM arrived meanwhile.
                if self.is_ending and not self.writing:
                    _attempt(self.finish)
                    self._end()

    def _snapshot(self):
        """torch's snapshot. In this mode torch looks up the names of C++ frames itself. Otherwise it starts programs for
        that, which takes longer, and fails if SIGTERM goes to the whole process group."""
        name = "TORCH_SYMBOLIZE_MODE"
        if name not in os.environ:
            os.environ[name] = "fast"
            try:
                return self.memory._snapshot()
            except Exception:
                # This torch does not know the mode.
                pass
            finally:
                os.environ.pop(name, None)
        return self.memory._snapshot()

    def _write(self, moment):
        import pickle

        if not (self.is_on or self.is_theirs):
            return None
        snapshot = self._snapshot()
        # On a device where nothing else has happened, the trace has only our own earlier snapshots.
        traces = snapshot["device_traces"]
        traces[:] = [trace if any(it["action"] != "snapshot" for it in trace) else [] for trace in traces]
        if not snapshot["segments"] and not any(traces):
            _tell("empty")
            return None
        is_full = not self.is_theirs and any(len(trace) >= _max_entries() for trace in traces)
        if _option("SOURCE"):
            snapshot["source_code"] = _attempt(_sources, snapshot) or {}
        rank = _rank()
        name = "%spid%d.pickle" % ("" if rank is None else "rank%d_" % rank, os.getpid())
        folder = os.path.join(_option("FOLDER"), moment)
        beside = os.path.join(folder, ".vramscope-" + name)
        path = os.path.join(folder, name)
        try:
            os.makedirs(folder, exist_ok=True)
            with open(beside, "wb") as file:
                pickle.dump(snapshot, file, 4)
            os.replace(beside, path)
        except BaseException:
            if os.path.exists(beside):
                os.unlink(beside)
            raise
        _tell("file", path=path, moment=moment, step=self.step, full=is_full)
        return path


def _sources(snapshot):
    """The text of the project's own files that occur in stacks: without installed packages and files changed since."""
    import sysconfig

    stacks = {}
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            stacks[id(block.get("frames"))] = block.get("frames") or ()
    for trace in snapshot["device_traces"]:
        for entry in trace:
            stacks[id(entry.get("frames"))] = entry.get("frames") or ()
    paths = {frame["filename"] for stack in stacks.values() for frame in stack}
    library = os.path.realpath(sysconfig.get_paths()["stdlib"]) + os.sep
    texts = {}
    for path in sorted(paths):
        if path.endswith(".py") and "-packages" not in path and not os.path.realpath(path).startswith(library):
            try:
                about = os.stat(path)
                if about.st_size <= _SOURCE_BYTES and about.st_mtime <= _BEGAN:
                    with open(path, encoding="utf-8", errors="replace") as file:
                        texts[path] = file.read()
            except OSError:
                pass
    return texts


def _start():
    """Waits for torch, unless another copy of this file already does."""
    if sys.version_info < (3, 8) or not _option("FOLDER") or getattr(sys, "_vramscope_record", False):
        return
    sys._vramscope_record = True
    if _option("RUN"):
        open(os.path.join(_option("RUN"), "python"), "a").close()
    if "torch" in sys.modules:
        _Recorder(sys.modules["torch"]).wait()
    else:
        sys.meta_path.insert(0, _Torch())


_attempt(_start)
if sys.version_info >= (3, 5):
    _other_sitecustomize()
