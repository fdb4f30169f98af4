"""Tables reach other libraries complete, with the same content as through Parquet."""

from __future__ import annotations

from pathlib import Path

import pytest
import vramscope
from conftest import FIXTURES, program

duckdb = pytest.importorskip("duckdb")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
compute = pytest.importorskip("pyarrow.compute")
parquet = pytest.importorskip("pyarrow.parquet")

TABLES = ("events", "allocations", "frames", "stacks", "annotations", "segments", "blocks")
FILES = ("torch-2.15.0/training.pickle", "torch-2.15.0/two_devices.pickle", "torch-2.15.0/oom_observer.pickle")


def plain(table):
    """The same table with texts instead of dictionaries of texts."""
    texts = [
        field.with_type(pyarrow.string())
        if pyarrow.types.is_dictionary(field.type) or pyarrow.types.is_large_string(field.type)
        else field
        for field in table.schema
    ]
    return table.cast(pyarrow.schema(texts))


@pytest.mark.parametrize("file", FILES)
def test_tables_are_those_of_parquet(file: str, tmp_path: Path) -> None:
    run = vramscope.open(FIXTURES / file)
    written = program("convert", FIXTURES / file, "-o", f"{tmp_path}/", "--to", "parquet")
    assert written.returncode == 0, written.stderr
    for name in TABLES:
        expected = parquet.read_table(tmp_path / f"{name}.parquet").replace_schema_metadata()
        table = run.table(name)
        got = plain(pyarrow.table(table))
        assert got.schema == expected.schema
        assert got.equals(expected), name
        assert table.column_names == expected.column_names
        assert len(table) == expected.num_rows
        assert f"{name}: {len(table)} rows" in repr(table)


def test_libraries_take_them_without_a_copy() -> None:
    run = vramscope.open(FIXTURES / FILES[0])
    table = run.allocations()
    one, other = pyarrow.table(table), pyarrow.table(table)
    address = lambda taken: taken["requested_bytes"].chunk(0).buffers()[1].address  # noqa: E731
    assert address(one) == address(other)
    assert pyarrow.record_batch(table).equals(one.to_batches()[0])
    assert pyarrow.schema(table) == one.schema
    # The data outlives what it came from.
    total = sum(one["requested_bytes"].to_pylist())
    del run, table
    assert sum(other["requested_bytes"].to_pylist()) == total


def test_pandas_polars_and_duckdb_compute_the_peak() -> None:
    run = vramscope.open(FIXTURES / FILES[0])
    peak, allocations = run.peak(), run.allocations()
    by_site = {group["group"]: group["bytes"] for group in peak["live"]}
    moment = peak["peak_moment"]

    frame = pandas.DataFrame.from_arrow(allocations)
    is_live = (frame.alloc_event.fillna(0) <= moment) & (frame.free_completed_event.fillna(2**53) > moment)
    sums = frame[is_live].groupby("call_site", observed=True).requested_bytes.sum()
    assert sums.to_dict() == by_site

    frame = polars.DataFrame(allocations)
    live = frame.filter(
        (polars.col("alloc_event").fill_null(0) <= moment)
        & (polars.col("free_completed_event").fill_null(2**53) > moment)
    )
    sums = live.group_by("call_site").agg(polars.sum("requested_bytes"))
    assert dict(sums.iter_rows()) == by_site

    rows = duckdb.sql(
        f"""SELECT call_site, sum(requested_bytes)::BIGINT FROM allocations
        WHERE coalesce(alloc_event, 0) <= {moment} AND coalesce(free_completed_event, 1e18) > {moment}
        GROUP BY call_site"""
    ).fetchall()
    assert dict(rows) == by_site


def test_a_device_alone() -> None:
    run = vramscope.open(FIXTURES / FILES[1])
    both = pyarrow.table(run.events())
    for device in run.peaks:
        alone = pyarrow.table(run.events(device))
        assert alone.num_rows == both.filter(compute.field("device") == device).num_rows > 0
