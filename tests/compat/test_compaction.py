"""A compacted topic while it is written, cleaned and read at both isolation levels, and while the broker is killed.

Every value is the number of its write. So in one reading, from the topic's start to its end, the values of a key rise,
whatever the cleaner does meanwhile; and the last one is the last that was written.
"""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.compat.conftest import NewServer
from tests.support.processes.server import Server
from tests.support.stack.compacted import BUSY_CLEANER, make_compacted
from tests.support.waiting import until

TOPIC, KEYS, PER_TRANSACTION = "busy", 10, 4
TRANSACTIONS = 120
KILL_AT = 60
DEADLINE_S = 60.0


@pytest.fixture
def server(tmp_path: Path, new_server: NewServer) -> Iterator[Server]:
    with new_server(tmp_path / "data", BUSY_CLEANER | {"log.cleaner.backoff.ms": 50}) as server:
        make_compacted(server.address, TOPIC)
        yield server


class Writer:
    """Transactions, of which every third is aborted."""

    def __init__(self, address: str) -> None:
        self.done = 0
        self.written = 0
        self.committed: dict[bytes, int] = {}
        self.aborted: set[int] = set()
        self._producer = Producer({"bootstrap.servers": address, "transactional.id": "writer", "log_level": 0})
        self._producer.init_transactions(DEADLINE_S)

    def write(self, count: int) -> None:
        """So many transactions more."""
        for _ in range(count):
            self._producer.begin_transaction()
            values = {b"k%d" % ((self.written + each) % KEYS): self.written + each for each in range(PER_TRANSACTION)}
            for key, value in values.items():
                self._producer.produce(TOPIC, b"%d" % value, key=key, partition=0)
            self._producer.flush(DEADLINE_S)
            self.written += PER_TRANSACTION
            if self.done % 3 == 2:
                self.aborted.update(values.values())
                _again(self._producer.abort_transaction)
            else:
                _again(self._producer.commit_transaction)
                self.committed |= values
            self.done += 1


def _again(end: Callable[[float], None]) -> None:
    """End a transaction; the broker may be away."""
    while True:
        try:
            return end(DEADLINE_S)
        except KafkaException as error:
            if not error.args[0].retriable():
                raise


class Reader(threading.Thread):
    """Reads the topic from its start to where it then ends, again and again."""

    def __init__(self, address: str, isolation_level: str) -> None:
        super().__init__(daemon=True)
        self.readings: list[list[tuple[int, bytes, int]]] = []
        self.failures: list[str] = []
        self._is_over = threading.Event()
        self._settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": address,
            "group.id": isolation_level,
            "isolation.level": isolation_level,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }

    def run(self) -> None:
        while not self._is_over.is_set():
            self.readings.append(self._read())

    def end(self) -> None:
        self._is_over.set()
        self.join(DEADLINE_S)
        self.readings.append(self._read())

    def _read(self) -> list[tuple[int, bytes, int]]:
        consumer, found = Consumer(self._settings), []
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        try:
            while True:
                message = consumer.poll(1.0)
                if message is None:
                    continue
                error = message.error()
                if error is None:
                    key, value, offset = message.key(), message.value(), message.offset()
                    assert isinstance(key, bytes)
                    assert isinstance(value, bytes)
                    assert offset is not None
                    found.append((offset, key, int(value)))
                elif error.code() == KafkaError._PARTITION_EOF:
                    return found
                elif not error.retriable():
                    self.failures.append(error.str())
                    return found
        finally:
            consumer.close()


def _check(reading: list[tuple[int, bytes, int]], aborted: set[int]) -> None:
    offsets = [offset for offset, _, _ in reading]
    assert offsets == sorted(set(offsets))
    last: dict[bytes, int] = {}
    for _, key, value in reading:
        assert value > last.get(key, -1), f"{key!r}: {value} after {last[key]}"
        assert value not in aborted
        last[key] = value


def test_readers_of_a_topic_that_is_being_compacted_see_what_was_written_last(server: Server) -> None:
    readers = [Reader(server.address, level) for level in ("read_committed", "read_uncommitted")]
    for reader in readers:
        reader.start()
    writer = Writer(server.address)
    writing = threading.Thread(target=writer.write, args=(TRANSACTIONS,), daemon=True)
    writing.start()
    until(lambda: writer.done >= KILL_AT, DEADLINE_S)
    server.kill()
    server.start()
    writing.join(DEADLINE_S)
    assert writer.done == TRANSACTIONS

    def is_compacted() -> bool:
        return sum(each.stat().st_size for each in (server.data_dir / f"{TOPIC}-0").glob("*.log")) < written_bytes

    written_bytes = TRANSACTIONS * 200  # a batch of four records and a marker take more
    until(is_compacted, DEADLINE_S)
    until(lambda: all(len(reader.readings) > 2 for reader in readers), DEADLINE_S)
    for reader in readers:
        reader.end()
        assert reader.failures == []
    committed, uncommitted = readers
    for reading in committed.readings:
        _check(reading, writer.aborted)
    for reading in uncommitted.readings:
        _check(reading, set())
    assert {key: value for _, key, value in committed.readings[-1]} == writer.committed
    last = {key: value for _, key, value in uncommitted.readings[-1]}
    assert last.keys() == writer.committed.keys()
    assert all(last[key] == value or last[key] in writer.aborted for key, value in writer.committed.items())
