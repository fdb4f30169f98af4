"""Reads the tables of a snapshot: tables.py PROGRAM SNAPSHOT PARQUET_FOLDER CSV_FOLDER.

DuckDB's results must equal `vramscope peak --json`; pyarrow, pandas and Python's csv must
see the same rows.
"""

import csv
import pathlib
import sys

import duckdb
import pandas
import pyarrow.parquet

from figures import check, peaks

TABLES = ["events", "allocations", "frames", "stacks", "annotations", "segments", "blocks"]


def main(program, snapshot, parquet_folder, csv_folder):
    parquet_folder, csv_folder = pathlib.Path(parquet_folder), pathlib.Path(csv_folder)
    db = duckdb.connect()
    db.execute("SET TimeZone = 'UTC'")
    for name in TABLES:
        path = parquet_folder / f"{name}.parquet"
        db.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{path}')")
        table = pyarrow.parquet.read_table(path)
        check(f"rows of {name}", db.execute(f"SELECT count(*) FROM {name}").fetchone()[0], table.num_rows)
        check(f"pandas, {name}", len(pandas.read_parquet(path)), table.num_rows)
        same_as_csv(name, table, csv_folder / f"{name}.csv")
    for device, part in peaks(program, snapshot).items():
        device_agrees(db, device, part)
    # Every stack leads to frames.
    lost = "SELECT count(*) FROM stacks LEFT JOIN frames USING (frame_id) WHERE frames.frame_id IS NULL"
    check("frames of stacks", db.execute(lost).fetchone()[0], 0)


def device_agrees(db, device, part):
    moment = part["peak_moment"]
    live = f"""
        SELECT sum(requested_bytes), count(*) FROM allocations
        WHERE device = {device} AND coalesce(alloc_event, 0) <= {moment}
          AND coalesce(free_completed_event, 9e18) > {moment}"""
    live_bytes, count = db.execute(live).fetchone()
    check("live at the peak", int(live_bytes or 0), part["peak_bytes"])
    check("live allocations", count, sum(row["allocations"] for row in part["live"]))
    # The curve from births and deaths alone, by a window over the events.
    curve = f"""
        WITH changes AS (
            SELECT coalesce(alloc_event, 0) AS event, requested_bytes AS bytes FROM allocations WHERE device = {device}
            UNION ALL
            SELECT free_completed_event, -requested_bytes FROM allocations
            WHERE device = {device} AND free_completed_event IS NOT NULL),
        steps AS (SELECT event, sum(bytes) AS bytes FROM changes GROUP BY event)
        SELECT event, active FROM (SELECT event, sum(bytes) OVER (ORDER BY event) AS active FROM steps)
        ORDER BY active DESC, event LIMIT 1"""
    highest = db.execute(curve).fetchone()
    if highest:
        check("highest moment", (highest[0], int(highest[1])), (moment, part["peak_bytes"]))
    at_peak = f"SELECT live_bytes, reserved_bytes FROM events WHERE device = {device} AND event = {moment}"
    row = db.execute(at_peak).fetchone()
    if row:
        check("events at the peak", row, (part["peak_bytes"], part["reserved_bytes"]))
    if row and part["peak_time_us"] is not None:
        time = f"SELECT epoch_us(time) FROM events WHERE device = {device} AND event = {moment}"
        # Times of a damaged trace run backwards, which moments do not.
        assert db.execute(time).fetchone()[0] <= part["peak_time_us"]
    by_site = f"""
        SELECT call_site, sum(requested_bytes)::BIGINT FROM allocations
        WHERE device = {device} AND coalesce(alloc_event, 0) <= {moment}
          AND coalesce(free_completed_event, 9e18) > {moment} GROUP BY call_site"""
    expected = {row["group"]: row["bytes"] for row in part["live"]}
    check("by call site", dict(db.execute(by_site).fetchall()), expected)


def same_as_csv(name, table, path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    is_time = lambda column: column == "time_us" or column.endswith("_time_us")
    names = [column.removesuffix("_us") if is_time(column) else column for column in rows[0]]
    check(f"columns of {name}", names, table.column_names)
    check(f"rows of {name} as CSV", len(rows) - 1, table.num_rows)
    for place, column in enumerate(table.column_names):
        values = table.column(column)
        if str(values.type).startswith("timestamp"):
            check(f"type of {column}", str(values.type), "timestamp[us, tz=UTC]")
            values = values.cast("int64")
        texts = [shown(value, column) for value in values.to_pylist()]
        check(f"{name}.{column}", [row[place] for row in rows[1:]], texts)


def shown(value, column):
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return hex(value) if column.endswith("address") else str(value)


main(*sys.argv[1:])
