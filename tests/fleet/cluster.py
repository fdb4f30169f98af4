"""Ballista on this machine: a scheduler and executors, each a process of its own.

    python cluster.py scheduler PORT
    python cluster.py executor ADDRESS PORT SCHEDULER_PORT

start one of them. Tests start all through `Cluster`.

Ballista's Python package leaves one port of an executor as it is, so each has an address of its own (127.0.0.2, 127.0.0.3, ...),
as on machines of their own. The scheduler calls them back at the address that their call comes from, so that goes through a
forwarder with that address.
"""

import pathlib
import socket
import subprocess
import sys
import threading
import time

import pyarrow

# The wheel is installed beside the environment: see ballista.txt.
sys.path.append(str(pathlib.Path(sys.prefix) / "ballista"))

from engines import plain, tables  # noqa: E402

PATIENCE_S = 60


def schedule(port):
    """Runs a scheduler until it is ended."""
    from ballista import BallistaScheduler

    serve(BallistaScheduler(bind_host="127.0.0.1", bind_port=port))


def execute(address, port, scheduler_port):
    """Runs an executor until it is ended."""
    from ballista import BallistaExecutor

    forwarder = forward(address, scheduler_port)
    serve(BallistaExecutor(port, address, address, forwarder, 1))


def serve(server):
    server.start()
    server.wait_for_termination()


def forward(address, port):
    """Forwards connections to a port of this machine, from an address. Returns the port at which they are taken."""
    listener = socket.create_server((address, 0))

    def pump(source, sink):
        try:
            while data := source.recv(1 << 16):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def accept():
        while True:
            inner, _ = listener.accept()
            outer = socket.create_connection(("127.0.0.1", port), source_address=(address, 0))
            for ends in [(inner, outer), (outer, inner)]:
                threading.Thread(target=pump, args=ends, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_for(port, address="127.0.0.1"):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex((address, port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on {address}:{port}")


class Cluster:
    """A scheduler and so many executors."""

    def __init__(self, executors, logs):
        self.logs = logs
        self.scheduler_port = free_port()
        self.scheduler = self.start("scheduler", self.scheduler_port)
        wait_for(self.scheduler_port)
        self.executors = []
        for number in range(executors):
            address, port = f"127.0.0.{number + 2}", free_port()
            self.executors.append(self.start("executor", address, port, self.scheduler_port))
            wait_for(port, address)

    def start(self, kind, *arguments):
        log = open(self.logs / f"{kind}-{arguments[0]}.log", "wb")
        command = [sys.executable, __file__, kind, *map(str, arguments)]
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def context(self, dataset):
        """A session with the tables of a dataset."""
        from ballista import BallistaSessionContext

        context = BallistaSessionContext(f"df://127.0.0.1:{self.scheduler_port}")
        for table in tables(dataset):
            context.register_parquet(
                table, f"{dataset}/{table}/", table_partition_cols=[("rank", pyarrow.int64())]
            )
        return context

    def end(self):
        for process in [*self.executors, self.scheduler]:
            process.kill()
            process.wait()


def ask(context, sql):
    """All rows of an answer."""
    rows = []
    for batch in context.sql(sql).collect():
        columns = [column.to_pylist() for column in batch.columns]
        rows.extend([plain(value) for value in row] for row in zip(*columns))
    return rows


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["scheduler", port]:
            schedule(int(port))
        case ["executor", address, port, scheduler_port]:
            execute(address, int(port), int(scheduler_port))
