"""DuckDB, Polars and Spark answer the ready questions, about the same files, as `vramscope sql` does."""

import shutil

import pytest

import engines

@pytest.fixture(scope="module")
def ours(program, dataset):
    return engines.Ours(program, dataset)


def agree(ours, other, questions):
    for name, sql in questions.items():
        assert other.ask(sql) == ours.ask(sql), name


def test_questions_have_answers(ours, questions):
    answers = {name: ours.ask(sql) for name, sql in questions.items()}
    assert [name for name, rows in answers.items() if not rows] == []
    assert [row[0] for row in answers["odd"]] != []
    assert {row[0] for row in answers["oom"]} == {6}


def test_duckdb(ours, dataset, questions):
    agree(ours, engines.DuckDb(dataset), questions)


def test_polars(ours, dataset, questions):
    agree(ours, engines.Polars(dataset), questions)


@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not here")
def test_spark(ours, dataset, questions):
    spark = engines.Spark(dataset)
    agree(ours, spark, questions)
    spark.close()
