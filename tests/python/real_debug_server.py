"""The debug server of a real torch, with four ranks as processes: gloo, and the CUDA runtime that stands in for a GPU.

    PYTHON=/path/to/venv/bin/python SCRIPT=../python/real_debug_server.py sh tests/make/standin.sh

The environment needs a CUDA build of torch, tabulate, and this package. The figures printed at the end are measured.
"""

import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import vramscope

RANKS = 4
ODD = 2
MIB = 1 << 20
OWN = {"X-Vramscope": "1"}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def rank_main(is_torchs_own: bool) -> None:
    """A rank: allocates, serves, and continues until its standard input ends."""
    import torch
    import torch.distributed as dist
    from torch.distributed import debug
    from vramscope import _debug_worker, debug_server

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.cuda.set_device(0)
    torch.cuda.memory._record_memory_history(max_entries=200_000)
    kept = [torch.empty((8 if rank == ODD else 1) * MIB, dtype=torch.uint8, device="cuda") for _ in range(32)]
    if is_torchs_own:
        debug.start_debug_server(port=int(os.environ["FRONT_PORT"]), handlers=debug_server.handlers())
        address = f"http://127.0.0.1:{os.environ['FRONT_PORT']}/vramscope" if rank == 0 else None
    else:
        address = debug_server.start(int(os.environ["FRONT_PORT"]))
    if address is not None:
        print(json.dumps({"address": address, "torch": torch.__version__}), flush=True)
        for events in (1_000, 10_000, 100_000):
            measured(_debug_worker, torch, events)
    for line in sys.stdin:
        if line == "more\n":
            kept.append(torch.empty(64 * MIB, dtype=torch.uint8, device="cuda"))
    if is_torchs_own and rank == 0:
        debug.stop_debug_server()
    elif not is_torchs_own:
        debug_server.stop()


def measured(worker, torch, events: int) -> None:
    """Prints the cost of answers for a rank with this many events, to standard error."""
    for _ in range(events // 2):
        torch.empty(512, dtype=torch.uint8, device="cuda")

    def median_ms(ask, times: int) -> float:
        took = []
        for _ in range(times):
            began = time.perf_counter()
            ask()
            took.append((time.perf_counter() - began) * 1e3)
        return statistics.median(took)

    figures = median_ms(worker.state, 200)
    blocks = median_ms(lambda: worker.dump(False), 50)
    whole = median_ms(lambda: worker.dump(True), 3)
    print(f"{events} events: state {figures:.3f} ms, blocks {blocks:.2f} ms, snapshot {whole:.0f} ms", file=sys.stderr)


class Job:
    """Four ranks, and what their front end answers."""

    def __init__(self, kind: str) -> None:
        environment = {
            **os.environ,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(free_port()),
            "FRONT_PORT": str(free_port()),
            "WORLD_SIZE": str(RANKS),
        }
        self.processes = [
            subprocess.Popen(
                [sys.executable, __file__, kind],
                env={**environment, "RANK": str(rank)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if rank == 0 else None,
                text=True,
            )
            for rank in range(RANKS)
        ]
        assert self.processes[0].stdout is not None
        began = json.loads(self.processes[0].stdout.readline())
        self.address, self.torch = began["address"], began["torch"]

    def get(self, path: str, headers: dict = OWN) -> bytes:
        request = urllib.request.Request(self.address + path, headers=headers)
        # torch's own front end is started without anybody waiting for it.
        for _ in range(100):
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return answer.read()
            except urllib.error.HTTPError as error:
                raise PermissionError(error.read().decode()) from None
            except urllib.error.URLError:
                time.sleep(0.2)
        raise AssertionError("the front end does not answer")

    def rows(self) -> dict:
        """The table, once all ranks are in it."""
        for _ in range(100):
            table = json.loads(self.get("/state"))
            if all(row["state"] and row["state"]["devices"] and not row["problem"] for row in table["ranks"]):
                return table
            time.sleep(0.1)
        raise AssertionError(f"ranks are missing: {table}")

    def lose_first(self) -> None:
        """Rank 0 is killed: its front end must not stay."""
        self.processes[0].kill()
        port = urllib.parse.urlsplit(self.address).port
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
            except ConnectionRefusedError:
                return
            time.sleep(0.1)
        raise AssertionError("the front end outlives its rank")

    def end(self, first: int = 0) -> None:
        for process in self.processes:
            process.stdin.close()
        codes = [process.wait(60) for process in self.processes]
        assert codes == [first] + [0] * (RANKS - 1), codes


def check(job: Job) -> None:
    table = job.rows()
    assert [row["state"]["rank"] for row in table["ranks"]] == [0, 1, 2, 3]
    active = [row["state"]["devices"][0]["active_bytes"] for row in table["ranks"]]
    assert active == [256 * MIB if rank == ODD else 32 * MIB for rank in range(RANKS)], active
    assert all(row["state"]["is_recording"] for row in table["ranks"])
    odd = {(one["rank"], one["measure"]) for one in table["odd"]}
    assert (ODD, "active_bytes") in odd and {rank for rank, _ in odd} == {ODD}, table["odd"]

    for events in (True, False):
        run = vramscope.open(job.get(f"/dump?rank={ODD}&events={int(events)}"))
        assert (len(run.events()) > 0) == events
        assert run.at("end")["live_bytes"] == 256 * MIB, run.at("end")

    job.processes[1].stdin.write("more\n")
    job.processes[1].stdin.flush()
    for _ in range(50):
        if job.rows()["ranks"][1]["state"]["devices"][0]["active_bytes"] == 96 * MIB:
            break
        time.sleep(0.1)
    else:
        raise AssertionError("what a rank allocates is not shown")

    for path, headers in [("/state", {}), ("/dump?rank=0", {}), ("/state", {**OWN, "Host": "example.org"})]:
        try:
            job.get(path, headers)
        except PermissionError as refused:
            assert "Refused" in str(refused)
        else:
            raise AssertionError(f"a stranger got {path}")
    assert b"data-part" in job.get("/viewer")
    assert b"GPU memory of all ranks" in job.get("")


def speed(job: Job) -> None:
    """How often the whole table can be fetched."""
    took = []
    for _ in range(50):
        time.sleep(0.1)
        began = time.perf_counter()
        job.get("/state")
        took.append((time.perf_counter() - began) * 1e3)
    print(f"the table: median {statistics.median(took):.1f} ms, longest {max(took):.1f} ms", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        rank_main(sys.argv[1] == "torch")
    else:
        for kind in ("vramscope", "torch"):
            job = Job(kind)
            check(job)
            speed(job)
            job.end()
            if kind == "vramscope":
                job = Job(kind)
                job.rows()
                job.lose_first()
                job.end(first=-signal.SIGKILL)
            print(f"started by {kind}: ok")
        print(f"torch {job.torch} serves its ranks as it should")
