"""Ballista on this machine: a scheduler and executors, each a process of its own.

    python cluster.py scheduler PORT
    python cluster.py executor PORT SCHEDULER_PORT

start one of them. Tests start all through `Cluster`.
"""

import pathlib
import socket
import subprocess
import sys
import time

# The wheel is installed beside the environment: see ballista.txt.
sys.path.append(str(pathlib.Path(sys.prefix) / "ballista"))

from engines import plain, tables  # noqa: E402

PATIENCE_S = 60


def serve(kind, port, scheduler_port=None):
    """Runs a scheduler or an executor until it is ended."""
    import ballista

    if kind == "scheduler":
        server = ballista.BallistaScheduler(bind_port=port)
    else:
        server = ballista.BallistaExecutor(
            bind_port=port, bind_host="127.0.0.1", scheduler_host="127.0.0.1", scheduler_port=scheduler_port
        )
    server.start()
    server.wait_for_termination()


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_for(port):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port}")


class Cluster:
    """A scheduler and so many executors."""

    def __init__(self, executors, logs):
        self.logs = logs
        self.scheduler_port = free_port()
        self.scheduler = self.start("scheduler", self.scheduler_port)
        wait_for(self.scheduler_port)
        self.executors = []
        for _ in range(executors):
            port = free_port()
            self.executors.append(self.start("executor", port, self.scheduler_port))
            wait_for(port)

    def start(self, kind, port, *more):
        log = open(self.logs / f"{kind}-{port}.log", "wb")
        command = [sys.executable, __file__, kind, str(port), *map(str, more)]
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def context(self, dataset):
        """A session with the tables of a dataset."""
        from ballista import BallistaSessionContext

        context = BallistaSessionContext(f"df://127.0.0.1:{self.scheduler_port}")
        for table in tables(dataset):
            context.sql(
                f"create external table {table} stored as parquet partitioned by (rank) location '{dataset}/{table}/'"
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
    serve(sys.argv[1], *map(int, sys.argv[2:]))
