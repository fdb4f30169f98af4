"""Ballista answers the ready questions as `vramscope sql` does, to the byte, also after an executor was killed."""

import json
import threading

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


def test_an_executor_may_die(two, ours, dataset, questions):
    """One is killed while the questions are asked again and again; all answers stay as they were."""
    expected = {name: as_bytes(ours.ask(sql)) for name, sql in questions.items()}
    context = two.context(dataset)
    killer = threading.Timer(1.0, two.executors[0].kill)
    killer.start()
    rounds = 0
    while rounds < 3 or killer.is_alive() or two.executors[0].poll() is None:
        for name, sql in questions.items():
            assert as_bytes(cluster.ask(context, sql)) == expected[name], name
        rounds += 1
