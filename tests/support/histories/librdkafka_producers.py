"""librdkafka's producers, through confluent-kafka."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import Producer as StockProducer

from tests.simulation.history import history
from tests.support.histories.clients import INPUT, TRANSACTION_TIMEOUT_MS, ClientError, OnResult, Program
from tests.support.histories.librdkafka_readers import RECONNECT, Reader
from tests.support.histories.notes import Notes


class Librdkafka:
    """The client, in this process."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._consumers: dict[str, Consumer] = {}

    def new_producer(self, transactional_id: str | None) -> LibrdkafkaProducer:
        return LibrdkafkaProducer(self._address, transactional_id, self._metadata)

    def new_reader(
        self,
        notes: Notes,
        name: str,
        partitions: Sequence[history.TopicPartition],
        is_over: threading.Event,
        *,
        is_committed: bool,
    ) -> Program:
        return Reader(notes, self._address, name, partitions, is_over, is_committed=is_committed)

    def close(self) -> None:
        for consumer in self._consumers.values():
            consumer.close()

    def _metadata(self, group: str) -> object:
        """Of a group without members: only a consumer can give it."""
        with self._lock:
            if group not in self._consumers:
                self._consumers[group] = Consumer({"bootstrap.servers": self._address, "group.id": group, **RECONNECT})
            return self._consumers[group].consumer_group_metadata()


class LibrdkafkaProducer:
    """One of its producers. `metadata`: gives that of a group."""

    def __init__(self, address: str, transactional_id: str | None, metadata: Callable[[str], object]) -> None:
        settings: dict[str, Any] = {"bootstrap.servers": address, "enable.idempotence": True, **RECONNECT}
        if transactional_id is not None:
            settings |= {"transactional.id": transactional_id, "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS}
        self._metadata = metadata
        self._producer = StockProducer(settings)

    def init(self, timeout_s: float) -> None:
        _called(lambda: self._producer.init_transactions(timeout_s))

    def begin(self) -> None:
        _called(self._producer.begin_transaction)

    def send(self, at: history.TopicPartition, value: bytes, on_result: OnResult) -> None:
        def delivered(error: Any, message: Message) -> None:
            if error:
                on_result(None, error.name())
            else:
                on_result(message.offset(), "")

        _called(lambda: self._producer.poll(0))  # first, since its error must not be assigned to the record
        _called(lambda: self._producer.produce(at[0], value, partition=at[1], on_delivery=delivered))

    def flush(self, timeout_s: float) -> None:
        """A failed producer keeps its records and reports nothing about them."""
        _called(lambda: self._producer.flush(timeout_s))

    def send_offset(self, group: str, offset: int, timeout_s: float) -> None:
        offsets, metadata = [TopicPartition(*INPUT, offset)], self._metadata(group)
        _called(lambda: self._producer.send_offsets_to_transaction(offsets, metadata, timeout_s))

    def commit(self, timeout_s: float) -> None:
        _called(lambda: self._producer.commit_transaction(timeout_s))

    def abort(self, timeout_s: float) -> None:
        _called(lambda: self._producer.abort_transaction(timeout_s))

    def close(self) -> None:
        """It is gone when there is no reference to it."""


def _called(call: Callable[[], object]) -> None:
    """Call the client.

    It raises a fatal error in the middle of serving callbacks, which breaks the next one: its answer is not heard then.
    """
    try:
        call()
    except KafkaException as problem:
        raise _error(problem) from None
    except SystemError as broken:
        if isinstance(broken.__cause__, KafkaException):
            raise _error(broken.__cause__) from None
        raise


def _error(problem: KafkaException) -> ClientError:
    error = problem.args[0]
    return ClientError(error.name(), may_try_again=error.retriable())
