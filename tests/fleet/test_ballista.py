"""Ballista answers the ready questions as `vramscope sql` does, to the byte, even after an executor was killed."""

import json
import threading
import time

import pytest

import cluster
import engines


@pytest.fixture(scope="module")
def ours(program, dataset):
    return engines.Ours(program, dataset)


@pytest.fixture
def two(tmp_path):
    started = cluster.Cluster(executors=2, logs=tmp_path)
    yield started
    started.end()


def as_bytes(rows):
    return json.dumps(rows).encode()


def test_questions(two, ours, dataset, questions):
    context = two.context(dataset)
    for name, sql in questions.items():
        assert as_bytes(cluster.ask(context, sql)) == as_bytes(ours.ask(sql)), name


def asked_until_answered(context, sql):
    """The answer, requested again while the scheduler believes that the dead executor is alive."""
    latest = time.monotonic() + 300
    while True:
        try:
            return cluster.ask(context, sql)
        except Exception as error:
            if "Job failed" not in str(error) or time.monotonic() > latest:
                raise
            time.sleep(10)


def test_an_executor_may_die(two, ours, dataset, questions):
    """One is killed in the middle of a query. The answer stays as it was, and so do those that follow.

    The scheduler notices after three minutes, which its Python package cannot change; and it hands the lost work to others only
    when something happens, so a small query is repeated meanwhile. If the query's last part had begun, and asks
    the dead executor for its results, the whole job fails, and has to be repeated.
    """
    sql = questions["sites"]
    expected = as_bytes(ours.ask(sql))
    context = two.context(dataset)
    answered = threading.Event()

    def stir():
        # It may wait for the dead one, too.
        while not answered.wait(20):
            little = (two.context(dataset), questions["oom"])
            threading.Thread(target=cluster.ask, args=little, daemon=True).start()

    threading.Thread(target=stir, daemon=True).start()
    threading.Timer(0.4, two.executors[0].kill).start()
    assert as_bytes(asked_until_answered(context, sql)) == expected
    answered.set()
    two.executors[0].wait()
    for name, sql in questions.items():
        assert as_bytes(asked_until_answered(context, sql)) == as_bytes(ours.ask(sql)), name
