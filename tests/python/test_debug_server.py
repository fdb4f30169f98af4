"""The page of all ranks, over a debug server with torch's interface but without torch; ``real_debug_server.py`` has
a real one."""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
import types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, Iterator, List, Optional
from urllib.parse import parse_qs, urlsplit

import pytest
import vramscope
from conftest import FIXTURES, FakeTorch
from vramscope import _debug_pages, _debug_worker, debug_server

OWN = {"Host": "localhost:25999", "X-Vramscope": "1"}
MIB = 1 << 20


class Store:
    """The job's store: like torch's, but without waiting."""

    def __init__(self) -> None:
        self.values: Dict[str, bytes] = {}

    def set(self, name: str, value: str) -> None:
        self.values[name] = value.encode()

    def get(self, name: str) -> bytes:
        return self.values[name]

    def check(self, names: List[str]) -> bool:
        return all(name in self.values for name in names)

    def add(self, name: str, more: int) -> int:
        total = int(self.values.get(name, b"0")) + more
        self.values[name] = str(total).encode()
        return total

    def delete_key(self, name: str) -> bool:
        return self.values.pop(name, None) is not None


class Exchange:
    """A request to a handler and its response, as torch hands them over."""

    def __init__(self, query: str) -> None:
        self.query = parse_qs(query)
        self.status = 200
        self.content = b""

    def get_param(self, name: str) -> str:
        return self.query.get(name, [""])[0]

    def set_status(self, status: int) -> None:
        self.status = status

    def set_content(self, content: Any, content_type: str) -> None:
        assert content_type in {"application/json", "application/octet-stream", "text/plain"}
        self.content = content if isinstance(content, bytes) else content.encode()


class Request:
    """A request to the front end."""

    def __init__(self, path: str, headers: Dict[str, str]) -> None:
        self.path = path
        self.headers = headers

    def get_query_arg(self, name: str, default: object = None, type: type = str) -> Any:
        query = parse_qs(urlsplit(self.path).query)
        return type(query[name][0]) if name in query else default


class Job:
    """Ranks in one process, each with a server of its own."""

    def __init__(self, torch: FakeTorch, monkeypatch: pytest.MonkeyPatch) -> None:
        self.torch = torch
        self.monkeypatch = monkeypatch
        self.store = Store()
        self.handlers: Dict[str, Callable[[Any, Any], None]] = {}
        self.active: List[int] = []
        self.silent: Dict[int, threading.Event] = {}
        self.asked: List[str] = []
        self.servers: List[ThreadingHTTPServer] = []
        self.lock = threading.Lock()
        module: Any = torch.module
        module.__version__ = "2.15.0"
        module._C._distributed_c10d = types.SimpleNamespace(_register_handler=self.register)
        module.cuda.is_initialized = lambda: True
        module.cuda.device_count = lambda: 2
        module.cuda.mem_get_info = lambda index: (5 * MIB, 9 * MIB)
        module.cuda.memory.memory_stats_as_nested_dict = self.stats
        module.cuda.memory._snapshot = lambda: {"segments": [], "device_traces": [[]]}
        module.cuda.memory.memory_snapshot = lambda mempool_id=None, include_traces=True: [include_traces]
        torch.is_initialized = True

    def register(self, name: str, handler: Callable[[Any, Any], None]) -> None:
        if name in self.handlers:
            raise ValueError(f"Handler {name} already registered")
        self.handlers[name] = handler

    def stats(self, index: int) -> Dict[str, Any]:
        rank = int(os.environ["RANK"])
        figures = {"current": self.active[rank], "peak": self.active[rank], "allocated": self.active[rank] * (index == 0)}
        unused = {"current": 0, "peak": 0, "allocated": 0}
        both = figures if index == 0 else unused
        return {
            "active_bytes": {"all": both},
            "reserved_bytes": {"all": both},
            "num_alloc_retries": 3,
            "num_ooms": 1,
        }

    def join(self, world: int) -> List[Any]:
        """All ranks call ``handlers()``, and start their servers. Returns what rank 0 got."""
        got: List[Any] = []
        self.monkeypatch.setenv("WORLD_SIZE", str(world))
        self.monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
        self.monkeypatch.setenv("MASTER_PORT", "1")
        for rank in range(world):
            self.monkeypatch.setenv("RANK", str(rank))
            pages = debug_server.handlers()
            assert rank == 0 or pages == []
            got += pages
            self.serve(rank)
        return got

    def serve(self, rank: int) -> None:
        job = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                if rank in job.silent:
                    job.silent[rank].wait(10)
                address = urlsplit(self.path)
                exchange = Exchange(address.query)
                with job.lock:
                    job.asked.append(f"{rank} {address.path}")
                    os.environ["RANK"] = str(rank)
                    job.handlers[address.path.rsplit("/", 1)[1]](exchange, exchange)
                self.send_response(exchange.status)
                self.end_headers()
                self.wfile.write(exchange.content)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.servers.append(server)
        self.store.set(f"rank{rank}", f"http://127.0.0.1:{server.server_address[1]}")

    def end(self) -> None:
        for event in self.silent.values():
            event.set()
        for server in self.servers:
            server.shutdown()
            server.server_close()


@pytest.fixture
def job(torch: FakeTorch, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    """A job whose ranks are all here."""
    job = Job(torch, monkeypatch)
    debug: Any = types.ModuleType("torch.distributed.debug")
    debug.start_debug_server = lambda port=25999, handlers=None: None
    store: Any = types.ModuleType("store")
    store.tcpstore_client = lambda: job.store
    store.get_rank = lambda: int(os.environ["RANK"])
    store.get_world_size = lambda: int(os.environ["WORLD_SIZE"])
    frontend: Any = types.ModuleType("frontend")
    frontend.Route = lambda path, handler: (path, handler)
    frontend.NavLink = lambda path, label: (path, label)
    defaults: Any = types.ModuleType("handlers")
    defaults.default_handlers = lambda: []
    modules = {"": debug, "._store": store, "._frontend": frontend, "._debug_handlers": defaults}
    monkeypatch.setitem(sys.modules, "torch.distributed", types.ModuleType("torch.distributed"))
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, f"torch.distributed.debug{name}", module)
    monkeypatch.setattr(_debug_worker, "_registered", False)
    monkeypatch.setattr(_debug_worker, "_key", b"")
    monkeypatch.setattr(_debug_pages, "_LEAST_AGE_S", 0.0)
    monkeypatch.delenv("TORCHELASTIC_RESTART_COUNT", raising=False)
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    yield job
    job.end()


class Front:
    """The front end's pages, as torch calls them."""

    def __init__(self, pages: List[Any]) -> None:
        # torch sends them to another process.
        (self.page,) = pickle.loads(pickle.dumps(pages))
        self.routes = dict(self.page.routes())

    def get(self, path: str, headers: Optional[Dict[str, str]] = None) -> bytes:
        request = Request(path, OWN if headers is None else headers)
        content: bytes = self.routes[urlsplit(path).path](request)
        return content

    def table(self) -> Dict[str, Any]:
        table: Dict[str, Any] = json.loads(self.get("/vramscope/state"))
        return table


def test_all_ranks_are_rows(job: Job) -> None:
    job.active = [32 * MIB, 33 * MIB, 32 * MIB, 256 * MIB]
    front = Front(job.join(4))
    table = front.table()
    states = [row["state"] for row in table["ranks"]]
    assert [state["rank"] for state in states] == [0, 1, 2, 3]
    assert [[one["device"] for one in state["devices"]] for state in states] == [[0]] * 4
    assert states[1]["devices"][0] == {
        "device": 0,
        "active_bytes": 33 * MIB,
        "peak_active_bytes": 33 * MIB,
        "reserved_bytes": 33 * MIB,
        "peak_reserved_bytes": 33 * MIB,
        "retries": 3,
        "ooms": 1,
        "free_bytes": 5 * MIB,
        "total_bytes": 9 * MIB,
    }
    assert {one["rank"] for one in table["odd"]} == {3}
    assert [one["measure"] for one in table["odd"]] == list(_debug_pages._MEASURES)
    assert table["odd"][0]["median_bytes"] == 32 * MIB and table["odd"][0]["further"] == 0
    assert front.page.dump_filename() == "vramscope" and json.loads(front.page.dump())["odd"] == table["odd"]
    assert front.page.nav_links() == [("/vramscope", "GPU memory")]


def test_equal_ranks_are_not_odd(job: Job) -> None:
    job.active = [MIB] * 4
    assert Front(job.join(4)).table()["odd"] == []


def test_a_snapshot_comes_as_torch_pickles_it(job: Job) -> None:
    job.active = [MIB, MIB]
    whole = pickle.loads((FIXTURES / "torch-2.15.0" / "training.pickle").read_bytes())
    job.torch.module.cuda.memory._snapshot = lambda: whole  # type: ignore[attr-defined]
    front = Front(job.join(2))
    run = vramscope.open(front.get("/vramscope/dump?rank=1"))
    assert len(run.events()) > 0 and job.asked[-1] == "1 /handler/vramscope_dump"
    assert pickle.loads(front.get("/vramscope/dump?rank=1&events=0")) == {"segments": [False], "device_traces": []}
    with pytest.raises(ValueError, match="no rank 2; the last is 1"):
        front.get("/vramscope/dump?rank=2")
    job.torch.module.cuda.is_initialized = lambda: False  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="rank 0: this rank has used no GPU yet"):
        front.get("/vramscope/dump?rank=0")
    assert front.table()["ranks"][0]["state"]["devices"] == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "localhost:25999"},
        {"Host": "localhost:25999", "Origin": "https://example.org"},
        {"Host": "example.org", "X-Vramscope": "1"},
        {"Host": "localhost.example.org:25999", "X-Vramscope": "1"},
        {"Host": "127.0.0.1.example.org", "X-Vramscope": "1"},
        {"X-Vramscope": "1"},
    ],
)
def test_strangers_are_refused(job: Job, headers: Dict[str, str]) -> None:
    job.active = [MIB]
    front = Front(job.join(1))
    for path in ("/vramscope/state", "/vramscope/dump?rank=0"):
        with pytest.raises(_debug_pages.Refused):
            front.get(path, headers)
    assert job.asked == []
    if not headers.get("Host", "").startswith("localhost:"):
        with pytest.raises(_debug_pages.Refused):
            front.get("/vramscope", headers)


def test_known_names_are_served(job: Job) -> None:
    job.active = [MIB]
    pages = job.join(1)
    pages[0] = debug_server.RanksHandler(pages[0]._key, ["Dash.example.org"], None)
    front = Front(pages)
    for host in ("127.0.0.1:1", "[::1]:1", "10.1.2.3", "localhost", "dash.example.org:80"):
        assert front.get("/vramscope/state", {**OWN, "Host": host})
        assert b"GPU memory of all ranks" in front.get("/vramscope", {"Host": host})


def test_ranks_answer_only_with_the_key(job: Job) -> None:
    job.active = [MIB, MIB]
    pages = job.join(2)
    # The store, which torch's own page shows, does not contain the key.
    assert sorted(job.store.values) == ["rank0", "rank1"]
    for query in ("", "key=", "key=guess", "key=%F0%9F%98%80"):
        for handler in job.handlers.values():
            exchange = Exchange(query)
            handler(exchange, exchange)
            assert exchange.status == 403 and exchange.content == b"only this job's front end may ask"
    # After a restart, all have a new one.
    again = job.join(2)
    assert again[0]._key != pages[0]._key
    assert Front(again).table()["ranks"][1]["problem"] is None
    problem = Front(pages).table()["ranks"][1]["problem"]
    assert problem == "rank 1: only this job's front end may ask"


def test_a_rank_that_hangs_keeps_no_other_from_being_shown(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_debug_pages, "_WAIT_S", 0.2)
    job.active = [MIB, MIB, MIB]
    front = Front(job.join(3))
    assert front.table()["ranks"][1]["problem"] is None
    job.silent[1] = threading.Event()
    job.active = [2 * MIB] * 3
    for _ in range(3):
        rows = front.table()["ranks"]
        assert [row["state"]["devices"][0]["active_bytes"] for row in rows] == [2 * MIB, MIB, 2 * MIB]
        assert rows[1]["problem"].startswith("no answer for ") and rows[1]["age_s"] > 0.1
    job.silent[1].set()
    monkeypatch.setattr(_debug_pages, "_WAIT_S", 5)
    assert front.table()["ranks"][1]["problem"] is None


def test_ranks_that_are_gone_or_never_came_say_so(job: Job) -> None:
    job.active = [MIB, MIB]
    front = Front(job.join(2))
    del job.store.values["rank1"]
    assert front.table()["ranks"][1]["problem"] == "rank 1 has not started its debug server"
    job.serve(1)
    assert front.table()["ranks"][1]["problem"] is None
    job.servers[2].shutdown()
    job.servers[2].server_close()
    assert front.table()["ranks"][1]["problem"].startswith("rank 1 cannot be reached: ")
    # It was restarted at another address; a server that answers for another rank is reported.
    job.serve(1)
    assert front.table()["ranks"][1]["problem"] is None
    assert front.page._ranks is not None
    front.page._ranks._addresses[1] = job.store.get("rank0").decode()
    assert front.table()["ranks"][1]["problem"].endswith(" rank 0 answers")


def test_many_readers_are_one(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_debug_pages, "_LEAST_AGE_S", 60.0)
    job.active = [MIB]
    front = Front(job.join(1))
    for _ in range(20):
        front.table()
    assert len(job.asked) == 1


def test_the_page_brings_the_viewer(job: Job) -> None:
    job.active = [MIB]
    pages = job.join(1)
    page = Front(pages).get("/vramscope").decode()
    assert 'data-viewer="/vramscope/viewer"' in page and "{NONCE}" not in page
    pages[0] = debug_server.RanksHandler("key", (), 'https://example.org/"><script>')
    assert 'data-viewer="https://example.org/&quot;&gt;&lt;script&gt;"' in Front(pages).get("/vramscope").decode()
    viewer = Front(pages).get("/vramscope/viewer").decode()
    assert "data-part" in viewer and "data-file=" not in viewer.split("<body", 1)[1]


def test_a_torch_without_the_server_is_told(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    job.torch.module.__version__ = "2.9.1"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.distributed.debug", None)
    for begin in (debug_server.handlers, debug_server.start):
        with pytest.raises(debug_server.UnavailableError, match=r"torch 2\.9\.1 has no debug server .* since torch 2\."):
            begin()
    old: Any = types.ModuleType("torch.distributed.debug")
    old.start_debug_server = lambda port=25999, worker_port=0: None
    monkeypatch.setitem(sys.modules, "torch.distributed.debug", old)
    with pytest.raises(debug_server.UnavailableError, match="its own pages only; .* since torch 2"):
        debug_server.handlers()


def test_what_the_server_needs_is_told(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASTER_PORT", raising=False)
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(RuntimeError, match="WORLD_SIZE, MASTER_ADDR, MASTER_PORT"):
        debug_server.handlers()
    monkeypatch.setitem(sys.modules, "torch.distributed.debug._debug_handlers", None)
    with pytest.raises(debug_server.UnavailableError, match="pip install"):
        job.active = [MIB]
        job.join(1)
    monkeypatch.setenv("WORLD_SIZE", "16")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    with pytest.raises(RuntimeError, match="on several machines"):
        debug_server.start()
