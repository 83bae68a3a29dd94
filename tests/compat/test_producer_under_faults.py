"""kafka-python's producer meets faults in a broker that is served: it retries, fails, and doubles nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaProducer
from kafka.errors import KafkaError as PythonClientError

from tests.broker.http.control.test_served_faults import PATH, arm, committed_end
from tests.support.processes.served import Running, ask


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with Running(tmp_path / "d", "--topic", "t:2") as it:
        yield it


def producer(running: Running, **settings: Any) -> KafkaProducer:
    return KafkaProducer(bootstrap_servers=running.address, **settings)


def test_a_stock_producer_retries_an_error_it_may_retry(running: Running) -> None:
    arm(running, {"api": "Produce", "topic": "t"}, {"error": "NOT_LEADER_OR_FOLLOWER"}, times=2, name="f")
    with producer(running) as sending:
        assert sending.send("t", b"x", partition=0).get(30).offset == 0
    assert ask(running.http, "GET", path=f"{PATH}/f")[1]["fired"] == 2


def test_a_stock_producer_fails_for_good_where_it_may_not_retry(running: Running) -> None:
    arm(running, {"api": "Produce"}, {"error": "TOPIC_AUTHORIZATION_FAILED"})
    with producer(running) as sending, pytest.raises(PythonClientError, match="TopicAuthorization"):
        sending.send("t", b"x", partition=0).get(30)


@pytest.mark.parametrize("where", ["before", "middle", "after"])
def test_what_an_idempotent_producer_sends_is_there_once_wherever_it_is_cut(running: Running, where: str) -> None:
    arm(running, {"api": "Produce"}, {"cut": where}, name="f")
    with producer(running, enable_idempotence=True) as sending:
        assert sending.send("t", b"x", partition=0).get(30).offset == 0
    assert committed_end(running) == 1
    assert ask(running.http, "GET", path=f"{PATH}/f")[1]["fired"] == 1
