"""What librdkafka (confluent-kafka) does when a fault meets it: one scenario for each API.

A scenario does what a careful program does: a call that fails with a retriable error is made again. It returns
"goes on" where the program had to do nothing, "tries again" where it had to, and else the name of its error.
"""

from collections.abc import Callable
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from tests.compat.under_faults.careful import Played, by_api, called, in_turn

TIMEOUT_S = 30
_SOCKETS = {"socket.timeout.ms": 2000, "reconnect.backoff.max.ms": 100}


def produce(address: str) -> str:
    """An idempotent producer sends a record."""
    producer = _producer(address, **{"enable.idempotence": True})
    failed: list[str] = []
    producer.produce("t", b"x", partition=0, callback=lambda error, _: failed.append(error.name()) if error else None)
    assert producer.flush(TIMEOUT_S) == 0
    return failed[0] if failed else "goes on"


def fetch(address: str) -> str:
    """A consumer reads a partition."""
    consumer = _consumer(address, "fetching")
    consumer.assign([TopicPartition("given", 0, OFFSET_BEGINNING)])
    return _read(consumer)


def join_group(address: str) -> str:
    """A member of a group reads a topic."""
    consumer = _consumer(address, "joining")
    consumer.subscribe(["given"])
    return _read(consumer)


def offset_commit(address: str) -> str:
    """A consumer commits an offset and waits for the answer."""
    consumer = _consumer(address, "committing")
    outcome = _called(lambda: consumer.commit(offsets=[TopicPartition("given", 0, 1)], asynchronous=False))
    consumer.close()
    return outcome


def init_producer_id(address: str) -> str:
    """A transactional producer begins."""
    return _called(lambda: _transactional(address).init_transactions(TIMEOUT_S), again=False)


def transaction(address: str) -> str:
    """A record and an offset are committed in a transaction. Of AddPartitionsToTxn, TxnOffsetCommit and EndTxn."""
    producer = _transactional(address)
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce("t", b"x", partition=0)
    consumer = _consumer(address, "in-transactions")
    offsets, member = [TopicPartition("given", 0, 1)], consumer.consumer_group_metadata()
    calls: list[Callable[[], Any]] = [
        lambda: producer.flush(TIMEOUT_S),
        lambda: producer.send_offsets_to_transaction(offsets, member, TIMEOUT_S),
        lambda: producer.commit_transaction(TIMEOUT_S),
    ]
    outcome = in_turn(map(_called, calls))
    consumer.close()
    return outcome


SCENARIOS: dict[str, Played] = by_api(produce, fetch, init_producer_id, transaction, join_group, offset_commit)


def _producer(address: str, **more: Any) -> Producer:
    return Producer({"bootstrap.servers": address, **_SOCKETS, **more})


def _transactional(address: str) -> Producer:
    return _producer(address, **{"transactional.id": "tx", "transaction.timeout.ms": 60_000})


def _consumer(address: str, group: str) -> Consumer:
    settings = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    settings |= {"session.timeout.ms": 6000, "max.poll.interval.ms": 6000}  # a JoinGroup is waited for so long
    return Consumer({"bootstrap.servers": address, **_SOCKETS, **settings})


def _read(consumer: Consumer) -> str:
    """Read the one record there is. What it is told besides are errors that the client has not got over by itself."""
    message = consumer.poll(TIMEOUT_S)
    outcome = "nothing" if message is None else "goes on"
    if message is not None and (error := message.error()) is not None:
        outcome = str(error.name())
    consumer.close()
    return outcome


def _called(call: Callable[[], Any], *, again: bool = True) -> str:
    return called(call, KafkaException, _told, again=again)


def _told(failed: KafkaException) -> tuple[str, bool]:
    return str(failed.args[0].name()), failed.args[0].retriable()
