"""What a stock client sees while the broker stands, or dies, at a step of a commit that nobody could reach before."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas import Barnabas, Crashed

PARTITIONS = 3
TIMEOUT_S = 30.0
QUIET_S = 0.5
"""So long a consumer polls that is to get nothing: several Fetches of its own."""
TX = "orders-writer"


@pytest.fixture
def broker() -> Iterator[Barnabas]:
    with Barnabas(topics={"orders": PARTITIONS}) as broker:
        yield broker


@pytest.fixture
def consumer(broker: Barnabas) -> Iterator[Consumer]:
    """Reads what is committed in all partitions, from the beginning."""
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": "readers",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 100,
    }
    consumer = Consumer(settings)
    consumer.assign([TopicPartition("orders", partition, 0) for partition in range(PARTITIONS)])
    with ExitStack() as stack:
        stack.callback(consumer.close)
        yield consumer


def begun(broker: Barnabas) -> Producer:
    """A transaction with a record in each partition, open."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": TX})
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    for partition in range(PARTITIONS):
        producer.produce("orders", b"v%d" % partition, partition=partition)
    assert producer.flush(TIMEOUT_S) == 0
    return producer


def read(consumer: Consumer, count: int) -> list[bytes]:
    """So many values, in the order of their partitions."""
    found: list[bytes] = []
    while len(found) < count:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, f"{len(found)} of {count}"
        assert message.error() is None
        found.append(message.value() or b"")
    return sorted(found)


WHOLE = [b"v0", b"v1", b"v2"]


@pytest.mark.parametrize(
    ("point", "facts"),
    [
        ("transaction.prepared", {}),
        ("transaction.marker_written", {"position": 1}),
        ("transaction.marker_writing", {"partition": 2}),
        ("transaction.marker_written", {"partition": 2}),
    ],
)
def test_a_committed_transaction_is_not_seen_before_its_last_marker_and_then_whole(
    broker: Barnabas, consumer: Consumer, point: str, facts: dict[str, int]
) -> None:
    producer = begun(broker)
    barrier = broker.faults.arm(point=point, facts={"transactional_id": TX, **facts}, pause=True)
    producer.commit_transaction(TIMEOUT_S)
    barrier.wait_standing()
    assert [txn.state for txn in broker.transactions()] == ["PrepareCommit"]
    assert consumer.poll(QUIET_S) is None
    assert len(broker.records("orders", isolation_level="read_uncommitted")) == PARTITIONS
    barrier.release()
    assert read(consumer, PARTITIONS) == WHOLE
    assert [txn.state for txn in broker.transactions()] == ["CompleteCommit"]


def test_a_producer_whose_commit_is_applied_and_not_answered_retries_and_commits_once(
    broker: Barnabas, consumer: Consumer
) -> None:
    producer = begun(broker)
    lost = broker.faults.arm(api="EndTxn", transactional_id=TX, cut="before")
    producer.commit_transaction(TIMEOUT_S)
    lost.wait()
    assert read(consumer, PARTITIONS) == WHOLE
    producer.begin_transaction()
    producer.produce("orders", b"next", partition=0)
    producer.commit_transaction(TIMEOUT_S)
    assert read(consumer, 1) == [b"next"]
    assert consumer.poll(QUIET_S) is None


def test_a_broker_that_dies_between_two_markers_shows_the_whole_commit_after_its_start(
    broker: Barnabas, consumer: Consumer
) -> None:
    producer = begun(broker)
    broker.faults.arm(name="torn", point="transaction.marker_written", facts={"position": 1}, crash=True)
    with ThreadPoolExecutor(1) as thread:
        committing = thread.submit(producer.commit_transaction, TIMEOUT_S)
        assert broker.faults.wait_crashed() == ("torn", "transaction.marker_written")
        assert not broker.is_running
        with pytest.raises(Crashed, match=r"^fault torn crashed the broker at transaction\.marker_written; start\(\)"):
            broker.topics()
        broker.start()
        committing.result(TIMEOUT_S)
    assert read(consumer, PARTITIONS) == WHOLE


def test_a_client_goes_on_over_a_crash_after_which_the_broker_is_started_again(
    broker: Barnabas, consumer: Consumer
) -> None:
    producer = begun(broker)
    broker.faults.arm(name="torn", point="transaction.marker_written", facts={"position": 1}, crash=True, restart=True)
    producer.commit_transaction(TIMEOUT_S)
    assert broker.faults.wait_crashed() == ("torn", "transaction.marker_written")
    assert broker.is_running
    assert read(consumer, PARTITIONS) == WHOLE
    producer.begin_transaction()
    producer.produce("orders", b"next", partition=0)
    producer.commit_transaction(TIMEOUT_S)
    assert read(consumer, 1) == [b"next"]


def test_a_broker_that_dies_before_the_decision_is_in_its_log_shows_nothing_until_the_producer_retries(
    broker: Barnabas, consumer: Consumer
) -> None:
    producer = begun(broker)
    undecided = {"transactional_id": TX, "state": "PrepareCommit"}
    broker.faults.arm(name="undecided", point="transaction.record_writing", facts=undecided, crash=True)
    with ThreadPoolExecutor(1) as thread:
        committing = thread.submit(producer.commit_transaction, TIMEOUT_S)
        broker.faults.wait_crashed()
        broker.start()
        committing.result(TIMEOUT_S)
    assert read(consumer, PARTITIONS) == WHOLE
