"""SQL answers the ready questions as `vramscope fleet` does; and DuckDB, Polars and Spark give the same answers as
`vramscope sql` about the same files."""

import shutil

import pytest

import engines


@pytest.fixture(scope="module")
def ours(program, dataset):
    return engines.Ours(program, dataset)


def agree(ours, other, questions):
    for name, sql in questions.items():
        assert other.ask(sql) == ours.ask(sql), name


@pytest.mark.parametrize("question", ["peaks", "odd", "diff", "leaks", "oom", "sites"])
def test_sql_answers_as_fleet(ours, fleet, questions, question):
    rows = ours.rows(questions[question])
    assert rows
    asked = [{column: row[column] for column in rows[0]} for row in fleet(question)]
    if question == "odd":
        # It has the oddest rank first; and no SQL common to all engines finds when in its recording a rank peaks.
        asked = [row for row in asked if row["measure"] != "when it peaks"]
        asked.sort(key=lambda row: (row["rank"], row["device"], row["measure"]))
    assert rows == asked


def test_snapshots_answer_as_their_dataset(ours, program, snapshots, questions):
    agree(ours, engines.Ours(program, snapshots), questions)


def test_duckdb(ours, dataset, questions):
    agree(ours, engines.DuckDb(dataset), questions)


def test_polars(ours, dataset, questions):
    agree(ours, engines.Polars(dataset), questions)


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not here")
def test_spark(ours, dataset, questions):
    spark = engines.Spark(dataset)
    agree(ours, spark, questions)
    spark.close()
