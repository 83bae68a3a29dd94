"""A task's transaction: begun with the first batch, written to, and left open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from barnabas.client.client import Client
from barnabas.client.metadata import TopicPartition
from barnabas.client.produce.batch_sender import BatchSender
from barnabas.client.produce.new_batch import NewBatch
from barnabas.client.transaction_requests import (
    EXPLICIT,
    ProducerIdentity,
    add_partitions,
    highest_version,
    init_producer,
)
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.registry import ApiKey
from pyspark_barnabas.commit.steps import Produce
from pyspark_barnabas.sink.failure import SinkFailed
from pyspark_barnabas.sink.settings import TRANSACTION_TIMEOUT_MS, SinkSettings
from pyspark_barnabas.sink.transaction.limits import with_timeout

_NO_TWO_PHASE = frozenset({ErrorCode.UNSUPPORTED_VERSION, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED})


class TaskTransaction:
    """One task's transaction, under the id that `commit.writing` chose.

    identity: its producer, None while nothing was written. is_own: whether it is this task's alone (not in atomic mode,
    where all tasks write in the driver's). on_own_id: gets the id before it is first used. sent_bytes: of records, as
    they were compressed.
    """

    def __init__(self, client: Client, settings: SinkSettings, step: Produce, on_own_id: Callable[[str], None]) -> None:
        self.transactional_id = step.transactional_id
        self.identity: ProducerIdentity | None = None
        self.sent_bytes = 0
        self.is_own = step.known is None
        self._client = client
        self._settings = settings
        self._step = step
        self._on_own_id = on_own_id
        self._sender: BatchSender | None = None

    @property
    def next_sequences(self) -> dict[TopicPartition, int]:
        """The producer's next sequence number in each partition that was written."""
        return {} if self._sender is None else self._sender.next_sequences

    def put(self, batches: Iterable[NewBatch]) -> None:
        """Send batches, grouped into requests if possible; wait while too much is in flight.

        Raise KafkaError or SinkFailed if they cannot be written.
        """
        first = next(iterator := iter(batches), None)
        if first is None:
            return
        if self._sender is None:
            self._sender = self._begin()
        self._sender.put_all(self._counted(chain([first], iterator)))

    def flush(self) -> None:
        """Wait until everything is acknowledged."""
        if self._sender is not None:
            self._sender.flush()

    def close(self) -> None:
        """Cancel what is in flight."""
        if self._sender is not None:
            self._sender.close()

    def _counted(self, batches: Iterable[NewBatch]) -> Iterator[NewBatch]:
        for each in batches:
            self.sent_bytes += len(each.records)
            yield each

    def _begin(self) -> BatchSender:
        settings, client = self._settings, self._client
        self.identity = identity = self._become_producer()
        written = {(each.topic, each.partition): each.next_sequence for each in self._step.written}
        return BatchSender(
            client,
            identity,
            transactional_id=self.transactional_id,
            before_first=lambda places: self._add(identity, places),
            highest_version=highest_version(ApiKey.PRODUCE, EXPLICIT),
            first_sequences=written,
            max_in_flight=settings.max_in_flight,
            request_bytes=settings.max_request_bytes,
            delivery_timeout_ms=settings.delivery_timeout_ms,
        )

    def _add(self, identity: ProducerIdentity, places: Iterable[TopicPartition]) -> None:
        deadline = self._client.deadline(self._settings.delivery_timeout_ms)
        add_partitions(self._client, self.transactional_id, identity, places, deadline)

    def _become_producer(self) -> ProducerIdentity:
        if self._step.known is not None:
            return ProducerIdentity(*self._step.known)
        self._on_own_id(self.transactional_id)
        if self._settings.two_phase != "off":
            try:
                # Without a timeout, so that no limit is looked up.
                return self._initialise(
                    self._settings.transaction_timeout_ms or TRANSACTION_TIMEOUT_MS, enable_2pc=True
                )
            except KafkaError as error:
                if error.code not in _NO_TWO_PHASE:
                    raise
                if self._settings.two_phase == "on":
                    raise SinkFailed(
                        "the broker offers no two-phase commits (KIP-939): set twoPhaseCommit to auto, which keeps"
                        " transactions open for kafka.transaction.timeout.ms at most, or set "
                        "transaction.two.phase.commit.enable=true on the broker"
                    ) from error
        return with_timeout(self._client, self._settings, self._initialise)

    def _initialise(self, timeout_ms: int, *, enable_2pc: bool = False) -> ProducerIdentity:
        return init_producer(
            self._client,
            self.transactional_id,
            timeout_ms=timeout_ms,
            enable_2pc=enable_2pc,
            deadline=self._client.deadline(self._settings.delivery_timeout_ms),
        ).identity
