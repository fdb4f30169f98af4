"""The page of all ranks, which the front end of torch's debug server shows on rank 0.

It runs in the front end's own process, so the training never waits for a reader. That server has no password and does
not check who asks, so data is returned only to its own page, under one of this machine's names.
"""

from __future__ import annotations

import html
import importlib
import ipaddress
import json
import secrets
import socket
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, TypedDict
from urllib.parse import quote, urlencode, urlsplit

from ._debug_worker import DUMP, STATE, RankState
from ._vramscope import odd_rank, viewer

PATH = "/vramscope"

_HEADER = "X-Vramscope"
"""A page of another origin cannot send this without asking first, and torch's server grants no such thing."""

_LEAST_AGE_S = 0.1
"""However many readers there are, ranks are queried at most ten times a second."""

_WAIT_S = 0.5
"""Ranks that take longer do not delay the others."""

_STATE_TIMEOUT_S = 10.0
_THREADS = 64

_MEASURES = ("active_bytes", "peak_active_bytes", "reserved_bytes", "peak_reserved_bytes")
"""The columns in which ranks are compared."""


class Row(TypedDict):
    """What is known of a rank."""

    rank: int
    state: Optional[RankState]
    """Its last answer; None before the first."""
    age_s: Optional[float]
    """Seconds since that answer."""
    problem: Optional[str]
    """Why there is no newer answer."""


class Odd(TypedDict):
    """A rank that is far from the others."""

    measure: str
    rank: int
    device: int
    bytes: int
    median_bytes: int
    further: int
    """How many other ranks are odd by this measure."""


class Ranks:
    """All ranks of the job, queried by the front end. Threads may share it."""

    def __init__(self, store: Any, world: int, key: str, dump_timeout_s: float) -> None:
        self._store = store
        self._key = key
        self._dump_timeout_s = dump_timeout_s
        self._rows: List[Row] = [{"rank": rank, "state": None, "age_s": None, "problem": None} for rank in range(world)]
        self._answered_s: Dict[int, float] = {}
        self._asked_s: Dict[int, float] = {}
        self._pending: Dict[int, Future[RankState]] = {}
        self._addresses: Dict[int, str] = {}
        self._pool = ThreadPoolExecutor(max(1, min(world, _THREADS)), "vramscope")
        self._lock = threading.Lock()
        self._refreshed_s = float("-inf")
        # Proxies are for the outside world.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def rows(self) -> List[Row]:
        """All ranks' current answers. Ranks that do not answer soon keep their last answer, with the reason."""
        with self._lock:
            if time.monotonic() - self._refreshed_s >= _LEAST_AGE_S:
                self._refresh()
                self._refreshed_s = time.monotonic()
            return self._rows

    def _refresh(self) -> None:
        for rank in range(len(self._rows)):
            if rank not in self._pending:
                self._asked_s[rank] = time.monotonic()
                self._pending[rank] = self._pool.submit(self._state, rank)
        wait(self._pending.values(), timeout=_WAIT_S)
        now_s = time.monotonic()
        self._rows = [self._row(row, now_s) for row in self._rows]

    def _row(self, last: Row, now_s: float) -> Row:
        rank, state, problem = last["rank"], last["state"], None
        answer = self._pending[rank]
        if answer.done():
            del self._pending[rank]
            try:
                state = answer.result()
                self._answered_s[rank] = now_s
            except Exception as error:
                problem = _line(error)
        else:
            problem = f"no answer for {now_s - self._asked_s[rank]:.1f} s"
        age_s = now_s - self._answered_s[rank] if rank in self._answered_s else None
        return {"rank": rank, "state": state, "age_s": age_s, "problem": problem}

    def _state(self, rank: int) -> RankState:
        state: RankState = json.loads(self._ask(rank, STATE, {}, _STATE_TIMEOUT_S))
        if state["rank"] != rank:
            raise RuntimeError(f"at its address, {self._addresses.get(rank)}, rank {state['rank']} answers")
        return state

    def dump(self, rank: int, events: bool) -> bytes:
        """A snapshot of a rank, as torch pickles it."""
        if not 0 <= rank < len(self._rows):
            raise ValueError(f"there is no rank {rank}; the last is {len(self._rows) - 1}")
        return self._ask(rank, DUMP, {"events": str(int(events))}, self._dump_timeout_s)

    def _ask(self, rank: int, handler: str, arguments: Dict[str, str], timeout_s: float) -> bytes:
        query = urlencode({"key": self._key, **arguments})
        request = urllib.request.Request(f"{self._address(rank)}/handler/{handler}?{query}", b"", method="POST")
        try:
            with self._opener.open(request, timeout=timeout_s) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"rank {rank}: {error.read(500).decode(errors='replace')}") from None
        except OSError as error:
            # It may have been started again elsewhere.
            self._addresses.pop(rank, None)
            raise RuntimeError(f"rank {rank} cannot be reached: {getattr(error, 'reason', error)}") from None

    def _address(self, rank: int) -> str:
        """Where the rank's worker server listens, as it wrote into the job's store."""
        if rank not in self._addresses:
            name = f"rank{rank}"
            # The store waits for minutes for a missing name.
            if not self._store.check([name]):
                raise RuntimeError(f"rank {rank} has not started its debug server")
            self._addresses[rank] = self._store.get(name).decode()
        return self._addresses[rank]


def odd_ones(rows: Sequence[Row]) -> List[Odd]:
    """The ranks that are far from the others, at most one per measure, by the rule of the viewer's table across ranks."""
    devices = [(row["rank"], one) for row in rows for one in (row["state"] or {"devices": []})["devices"]]
    found: List[Odd] = []
    for measure in _MEASURES:
        values = [int(one[measure]) for _, one in devices]  # type: ignore[literal-required]
        odd = odd_rank(values)
        if odd is not None:
            index, median_bytes, further = odd
            rank, device = devices[index][0], devices[index][1]["device"]
            found.append(
                {
                    "measure": measure,
                    "rank": rank,
                    "device": device,
                    "bytes": values[index],
                    "median_bytes": median_bytes,
                    "further": further,
                }
            )
    return found


class RanksHandler:
    """What torch's front end expects from a handler (``torch.distributed.debug._frontend.DebugHandler``).

    It has no base class: this module is also imported without torch, and is sent to the front end's process.

    Attributes:
        fetch_timeout: Seconds that a snapshot may take; torch sets it.
    """

    fetch_timeout: float = 60.0

    def __init__(self, key: str, hosts: Sequence[str], viewer_url: Optional[str]) -> None:
        self._key = key
        self._hosts = frozenset(name.lower() for name in hosts)
        self._viewer_url = viewer_url
        self._ranks: Optional[Ranks] = None
        self._viewer: Optional[bytes] = None

    def routes(self) -> List[Any]:
        """The addresses that it answers."""
        # torch calls this once, in the front end's process.
        store = importlib.import_module("torch.distributed.debug._store")
        self._ranks = Ranks(store.tcpstore_client(), store.get_world_size(), self._key, self.fetch_timeout)
        route = importlib.import_module("torch.distributed.debug._frontend").Route
        answers = {"": self._page, "/state": self._state, "/dump": self._dump, "/viewer": self._own_viewer}
        return [route(PATH + end, answer) for end, answer in answers.items()]

    def nav_links(self) -> List[Any]:
        """Its link on the front end's other pages."""
        return [importlib.import_module("torch.distributed.debug._frontend").NavLink(PATH, "GPU memory")]

    def templates(self) -> Dict[str, str]:
        """None: the page is its own."""
        return {}

    def dump(self) -> str:
        """The state of all ranks, for torch's periodic dumps."""
        return self._answer().decode()

    def dump_filename(self) -> str:
        """Prefix of these dumps' names, by which ``enabled_dumps`` chooses them."""
        return "vramscope"

    def _all_ranks(self) -> Ranks:
        if self._ranks is None:
            raise RuntimeError("the front end has not been started")
        return self._ranks

    def _answer(self) -> bytes:
        rows = self._all_ranks().rows()
        return json.dumps({"ranks": rows, "odd": odd_ones(rows)}).encode()

    def _page(self, request: Any) -> bytes:
        refuse_strangers(request.headers, self._hosts)
        text = Path(__file__).with_name("ranks.html").read_text(encoding="utf-8")
        address = self._viewer_url if self._viewer_url is not None else PATH + "/viewer"
        for name, value in {"NONCE": secrets.token_urlsafe(16), "VIEWER": address}.items():
            text = text.replace(f"{{{name}}}", html.escape(value))
        return text.encode()

    def _state(self, request: Any) -> bytes:
        refuse_strangers(request.headers, self._hosts, must_be_own=True)
        # Ten lines a second would bury the program's own log.
        request.log_message = lambda *_: None
        return self._answer()

    def _dump(self, request: Any) -> bytes:
        refuse_strangers(request.headers, self._hosts, must_be_own=True)
        rank = int(request.get_query_arg("rank", default="-1"))
        return self._all_ranks().dump(rank, request.get_query_arg("events", default="1") != "0")

    def _own_viewer(self, request: Any) -> bytes:
        refuse_strangers(request.headers, self._hosts)
        if self._viewer is None:
            self._viewer = viewer().encode()
        return self._viewer


class Refused(Exception):
    """A request that no page of this server makes."""


def refuse_strangers(headers: Mapping[str, str], hosts: frozenset[str], must_be_own: bool = False) -> None:
    """Fails for a request that comes from another page, or by a name that is not this machine's.

    Another page can make a browser request any address, and could read the answers under a name that it points to this
    machine. Names that nobody else can own are safe: numeric addresses, ``localhost``, the machine's own name.
    """
    name = (urlsplit("//" + (headers.get("Host") or "")).hostname or "").lower()
    own = socket.gethostname().lower()
    if not (_is_number(name) or name in {"localhost", own, own.split(".", 1)[0]} or name in hosts):
        raise Refused(f"{quote(name)} is no name of this machine that is known: add it to hosts")
    if must_be_own and headers.get(_HEADER) is None:
        raise Refused(f"the header {_HEADER} is missing")


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _line(error: Exception) -> str:
    """What is wrong, in one line."""
    return " ".join(str(error).split()) or type(error).__name__
