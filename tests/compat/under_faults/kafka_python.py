"""What kafka-python does when a fault meets it: one scenario for each API. An outcome is what librdkafka.py says."""

from collections.abc import Callable
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError

from tests.compat.under_faults.careful import Played, by_api, called, in_turn

TIMEOUT_S = 30
_SETTINGS: dict[str, Any] = {"request_timeout_ms": 2000, "reconnect_backoff_max_ms": 100}
_GIVEN = TopicPartition("given", 0)
_OFFSETS = {_GIVEN: OffsetAndMetadata(1, "", -1)}


def produce(address: str) -> str:
    """An idempotent producer sends a record."""
    producer = KafkaProducer(bootstrap_servers=address, **_SETTINGS)
    outcome = _called(lambda: producer.send("t", b"x", partition=0).get(TIMEOUT_S), again=False)
    producer.close(timeout=1)
    return outcome


def fetch(address: str) -> str:
    """A consumer reads a partition."""
    consumer = _consumer(address, None)
    consumer.assign([_GIVEN])
    return _read(consumer)


def join_group(address: str) -> str:
    """A member of a group reads a topic."""
    consumer = _consumer(address, "joining")
    consumer.subscribe(["given"])
    return _read(consumer)


def offset_commit(address: str) -> str:
    """A consumer commits an offset and waits for the answer."""
    consumer = _consumer(address, "committing")
    consumer.assign([_GIVEN])
    outcome = _called(lambda: consumer.commit(_OFFSETS))
    consumer.close(autocommit=False)
    return outcome


def init_producer_id(address: str) -> str:
    """A transactional producer begins."""
    producer = _transactional(address)
    outcome = _called(producer.init_transactions)
    producer.close(timeout=1)
    return outcome


def transaction(address: str) -> str:
    """A record and an offset are committed in a transaction. Of AddPartitionsToTxn, TxnOffsetCommit and EndTxn."""
    producer = _transactional(address)
    outcome = _transact(producer)
    producer.close(timeout=1)
    return outcome


def aborted_and_made_anew(address: str) -> tuple[str, str]:
    """What an abort says after a transaction that failed, and how the same one goes with a new producer."""
    producer = _transactional(address)
    assert _transact(producer) not in ("goes on", "tries again")
    aborted = _called(producer.abort_transaction)
    producer.close(timeout=1)
    return aborted, transaction(address)


SCENARIOS: dict[str, Played] = by_api(produce, fetch, init_producer_id, transaction, join_group, offset_commit)


def _transact(producer: KafkaProducer) -> str:
    producer.init_transactions()
    producer.begin_transaction()
    calls: list[Callable[[], Any]] = [
        lambda: producer.send("t", b"x", partition=0).get(TIMEOUT_S),
        lambda: producer.send_offsets_to_transaction(_OFFSETS, "in-transactions"),
        producer.commit_transaction,
    ]
    return in_turn(map(_called, calls))


def _transactional(address: str) -> KafkaProducer:
    return KafkaProducer(bootstrap_servers=address, transactional_id="tx", **_SETTINGS)


def _consumer(address: str, group: str | None) -> KafkaConsumer:
    settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "heartbeat_interval_ms": 500}
    settings |= {"session_timeout_ms": 6000, "max_poll_interval_ms": 6000}  # a JoinGroup is waited for so long
    return KafkaConsumer(bootstrap_servers=address, group_id=group, **_SETTINGS, **settings)


def _read(consumer: KafkaConsumer) -> str:
    """Read the one record there is."""
    read: list[Any] = []
    outcome = _called(lambda: read.extend(consumer.poll(TIMEOUT_S * 1000)))
    consumer.close(autocommit=False)
    return outcome if read or outcome not in ("goes on", "tries again") else "nothing"


def _called(call: Callable[[], Any], *, again: bool = True) -> str:
    return called(call, KafkaError, lambda failed: (type(failed).__name__, failed.retriable), again=again)
