"""Times queries on a dataset, by `vramscope sql` and by DuckDB: timing.py PROGRAM DATASET FILE.sql...

Prints a JSON object per query: the best of three runs, in seconds. Ours include the start of the program; DuckDB's do not
include that of Python, but reading what the tables are.
"""

import json
import pathlib
import subprocess
import sys
import time

import engines

RUNS = 3


def best(run):
    """The shortest of some runs, and the last result."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    return min(times), result


def by_duckdb(dataset, sql):
    connection = engines.DuckDb(dataset)
    rows = connection.ask(sql)
    connection.close()
    return rows


def by_ours(program, dataset, sql):
    command = [program, "sql", "-", dataset, "--json"]
    answer = subprocess.run(command, input=sql, check=True, capture_output=True, text=True).stdout
    return json.loads(answer)["total"]


def main(program, dataset, *files):
    for file in map(pathlib.Path, files):
        sql = file.read_text()
        ours_s, total = best(lambda: by_ours(program, dataset, sql))
        duckdb_s, rows = best(lambda: by_duckdb(pathlib.Path(dataset), sql))
        assert total == len(rows), (file, total, len(rows))
        print(json.dumps({"query": file.stem, "rows": total, "ours_s": ours_s, "duckdb_s": duckdb_s}))


if __name__ == "__main__":
    main(*sys.argv[1:])
