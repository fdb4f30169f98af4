"""GPU memory of all ranks of a running job, through PyTorch's debug server (``torch.distributed.debug``).

Each rank reports its allocator's memory, in a thread during the training. Rank 0 shows all ranks in one table, and opens
a snapshot of any of them in the viewer. Call one of these on **every** rank, once ``RANK``, ``WORLD_SIZE``, ``MASTER_ADDR``
and ``MASTER_PORT`` are set and the job's store runs, as after ``init_process_group``:

    from vramscope import debug_server
    debug_server.start()                                        # for this machine only: http://127.0.0.1:25999/vramscope

    from torch.distributed.debug import start_debug_server
    start_debug_server(handlers=debug_server.handlers())        # torch's own, open to the network

torch's server listens on all addresses of every machine without a password: anyone who reaches it can read stacks, start
profiles and take snapshots. It is for trusted networks.
"""

from __future__ import annotations

import importlib
import inspect
import multiprocessing
import os
import secrets
import socket
from typing import Any, Dict, List, Optional, Sequence

from . import _debug_worker, _record
from ._debug_pages import PATH, RanksHandler

__all__ = ["UnavailableError", "handlers", "start", "stop"]

_FIRST = "2.11"
"""The first torch whose debug server takes handlers."""

_NEEDED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")

_START_TIMEOUT_S = 120.0
"""A newly started process imports torch first."""

_started: Dict[str, Any] = {}
"""What ``start()`` started: the worker server and, on rank 0, the front end's process."""


class UnavailableError(RuntimeError):
    """This torch has no debug server that takes handlers, or lacks the server's requirements; the text says what to do."""


def handlers(*, hosts: Sequence[str] = (), viewer: Optional[str] = None) -> List[Any]:
    """What to give to ``torch.distributed.debug.start_debug_server(handlers=...)``: torch's own pages, and ours.

    Call it on every rank: it makes the rank answer, and waits until rank 0 has called it, too. It opens no port itself.

    Args:
        hosts: Names under which the front end may be reached, besides ``localhost``, the machine's own name and any numeric
            address. Nothing is shown under other names: they may belong to a stranger who points them here.
        viewer: The address of another viewer to open snapshots in, such as ``"https://example.org/vramscope/"``.
            By default the front end contains one.

    Raises:
        UnavailableError: This torch has no such server.
        RuntimeError: The job's variables are not set.
    """
    ours = _handler(hosts, viewer)
    if ours is None:
        return []
    try:
        defaults = importlib.import_module("torch.distributed.debug._debug_handlers").default_handlers()
    except ModuleNotFoundError as problem:
        name = problem.name
        raise UnavailableError(f"torch's debug server needs the package {name}: pip install {name}") from None
    return [*defaults, ours]


def start(
    port: int = 25999,
    *,
    host: str = "127.0.0.1",
    worker_host: str = "127.0.0.1",
    hosts: Sequence[str] = (),
    viewer: Optional[str] = None,
    start_method: Optional[str] = None,
) -> Optional[str]:
    """Starts torch's debug server with our page, for this machine only unless told otherwise. Call it on every rank.

    Reach the page from elsewhere through ``ssh -L 25999:localhost:25999``. It is torch's own front end and its worker
    servers; but ``start_debug_server`` opens them to the network, and this does so only on request.

    Args:
        port: The port on which the front end listens, on rank 0; 0 means any free one.
        host: The address on which it listens.
        worker_host: The address on which each rank listens, for the front end. With ranks on several machines it must be
            one that rank 0 can reach: ``"::"`` and ``"0.0.0.0"`` are all of the machine's, which others find by its name.
        hosts: As for ``handlers()``.
        viewer: As for ``handlers()``.
        start_method: How the front end's process is started: ``"fork"``, ``"spawn"`` or ``"forkserver"``; by default
            as in Python.

    Returns:
        The page's address on rank 0, None on others.

    Raises:
        UnavailableError: This torch has no such server.
        RuntimeError: It is already running, or the job's variables are not set.
        OSError: It cannot listen on an address.
    """
    if _started:
        raise RuntimeError("the debug server runs already")
    _check_reach(worker_host)
    pages = handlers(hosts=hosts, viewer=viewer)
    debug = importlib.import_module("torch.distributed.debug")
    store = importlib.import_module("torch.distributed.debug._store")
    try:
        server = debug._WorkerServer(worker_host, 0)
    except RuntimeError as problem:
        raise OSError(f"cannot listen on {worker_host}: {problem}") from None
    _started["worker"] = server
    store.tcpstore_client().set(f"rank{store.get_rank()}", f"http://{_in_address(_reached_at(worker_host))}:{server.port}")
    if not pages:
        return None
    try:
        return _start_front_end(host, port, pages, start_method)
    except BaseException:
        stop()
        raise


def stop() -> None:
    """Ends what ``start()`` started on this rank."""
    process = _started.pop("process", None)
    if process is not None:
        process.terminate()
        process.join()
    server = _started.pop("worker", None)
    if server is not None:
        server.shutdown()


def _handler(hosts: Sequence[str], viewer: Optional[str]) -> Optional[RanksHandler]:
    """Makes this rank answer; on rank 0, also returns the front end's handler."""
    _check_torch()
    missing = [name for name in _NEEDED if name not in os.environ]
    if missing:
        raise RuntimeError(f"torch's debug server needs the variables that torchrun sets: {', '.join(missing)} is missing")
    store = importlib.import_module("torch.distributed.debug._store")
    rank = store.get_rank()
    key = _agree(store.tcpstore_client(), rank, store.get_world_size())
    _debug_worker.register(key)
    return RanksHandler(key, hosts, viewer) if rank == 0 else None


def _check_torch() -> None:
    """Fails if torch has no debug server that takes handlers."""
    torch = _record._torch()
    since = f"it takes pages of others since torch {_FIRST}"
    try:
        debug = importlib.import_module("torch.distributed.debug")
    except ImportError:
        raise UnavailableError(f"torch {torch.__version__} has no debug server (torch.distributed.debug); {since}") from None
    if "handlers" not in inspect.signature(debug.start_debug_server).parameters:
        raise UnavailableError(f"the debug server of torch {torch.__version__} shows its own pages only; {since}")


def _agree(store: Any, rank: int, world: int) -> str:
    """A secret that only the ranks know. It is removed from the store again, because the server shows the store."""
    # After a restart, remains of a job that failed here must not be mistaken for new entries.
    prefix = f"vramscope/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
    name, readers = f"{prefix}/key", f"{prefix}/readers"
    if rank == 0:
        store.set(name, secrets.token_urlsafe(32))
    key: str = store.get(name).decode()
    if store.add(readers, 1) >= world:
        store.delete_key(name)
        store.delete_key(readers)
    return key


def _check_reach(worker_host: str) -> None:
    """Fails if ranks on other machines would get a loopback address, which means themselves."""
    local, world = os.environ.get("LOCAL_WORLD_SIZE"), os.environ.get("WORLD_SIZE")
    if local is not None and local != world and worker_host in {"127.0.0.1", "::1", "localhost"}:
        raise RuntimeError(
            "this job has ranks on several machines, which rank 0 does not reach at "
            f"{worker_host}: give worker_host, such as '::' in a network that is trusted"
        )


def _reached_at(host: str) -> str:
    """The address under which others reach a server that listens on this one."""
    return socket.gethostname() if host in {"::", "0.0.0.0", ""} else host


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _start_front_end(host: str, port: int, pages: List[Any], start_method: Optional[str]) -> str:
    """Starts the front end in a separate process, and waits until it listens."""
    context = multiprocessing.get_context(start_method)
    ours, theirs = context.Pipe(duplex=False)
    # mypy does not know Process in a context of any method.
    process = context.Process(target=_front_end, args=(host, port, pages, theirs), daemon=True)  # type: ignore[attr-defined]
    process.start()
    _started["process"] = process
    theirs.close()
    try:
        answer = ours.recv() if ours.poll(_START_TIMEOUT_S) else "it does not answer"
    except EOFError:
        answer = "its process ended"
    if not isinstance(answer, int):
        raise OSError(f"the front end does not start on {host}, port {port}: {answer}")
    return f"http://{_in_address(_reached_at(host))}:{answer}{PATH}"


def _front_end(host: str, port: int, pages: List[Any], answer: Any) -> None:
    """The front end's process: torch's front end, on this address. It ends with rank 0."""
    try:
        frontend: Any = importlib.import_module("torch.distributed.debug._frontend")
        every_address = frontend._IPv6HTTPServer

        class Server(every_address):  # type: ignore[misc, valid-type]
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

            def __init__(self, address: Any, handler: Any) -> None:
                super().__init__((host, address[1]), handler)

        # torch leaves no choice; if it creates its server differently, there must be none.
        frontend._IPv6HTTPServer = Server
        server = frontend.FrontendServer(port=port, handlers=pages)._server
        if not isinstance(server, Server):
            raise UnavailableError("this torch makes its front end in another way")
        answer.send(server.server_address[1])
    except Exception as problem:
        answer.send(f"{type(problem).__name__}: {problem}")
        return
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
