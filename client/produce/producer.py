"""A producer: records in, batches out, acknowledged or an error for each record.

Theory of operation: `send` collects; `flush`, or enough bytes, passes the oldest batch of every partition to a
BatchSender, which decides on retries, and waits until all of them are acknowledged or lost. With idempotence the
broker recognises duplicates, so no record is stored twice. After a batch was lost its partition's sequence numbers
cannot continue: later batches are sent with a new producer id, by another BatchSender.

Invariants: one batch of a partition is in flight at a time, so records keep their order, with idempotence or without.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType, TracebackType
from typing import TYPE_CHECKING, Any

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.errors import ConnectionFailed, raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.client.produce.batch_sender import ACKS_ALL, ACKS_LEADER, ACKS_NONE, DELIVERY_TIMEOUT_MS, BatchSender
from barnabas.client.produce.batching import Batches, CollectedBatch, Delivery
from barnabas.client.produce.new_batch import CANNOT_BE_ENCODED, NewBatch, encode, unencodable
from barnabas.client.produce.partitioner import KeylessPartitioner, partition_for_key
from barnabas.client.transaction_requests import NO_PRODUCER, ProducerIdentity
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.protocol.records.builder import NewRecord
from barnabas.protocol.records.compression import COMPRESSION_IDS

if TYPE_CHECKING:
    from typing import Self

BATCH_BYTES = 256 * 1024
COLLECTED_BYTES = 4 * 1024 * 1024  # how much `send` collects before it sends, and so what may go in one request

_BYTES_OR_NONE = (bytes, NoneType, bytearray, memoryview)


class Producer:
    """Sends records through a Client.

    acks: -1 all in-sync replicas, 1 the leader, 0 none (then offsets are -1 and errors are unknown).
    idempotent: retries never duplicate a record; needs acks -1.
    compression: none, gzip, snappy, lz4 or zstd; `level` on the codec's own scale.
    """

    def __init__(
        self,
        client: Client,
        *,
        acks: int = ACKS_ALL,
        idempotent: bool = True,
        compression: str = "none",
        level: int | None = None,
        batch_bytes: int = BATCH_BYTES,
        delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS,
    ) -> None:
        if acks not in (ACKS_ALL, ACKS_LEADER, ACKS_NONE):
            raise ValueError(f"acks is -1, 0 or 1, not {acks}")
        self._client = client
        self._acks = acks
        self._idempotent = idempotent and acks == ACKS_ALL
        self._compression = COMPRESSION_IDS[compression]
        self._level = level
        self._timeout_ms = delivery_timeout_ms
        self._batches = Batches(batch_bytes)
        self._keyless = KeylessPartitioner()
        self._sender: BatchSender | None = None
        self._failure: KafkaError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.flush()

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        timestamp: int | None = None,
        partition: int | None = None,
    ) -> Delivery:
        """Add a record; it is sent when there is enough or at `flush`.

        KafkaError if the topic is not available, TypeError for values that are not bytes: the record was not added. The
        outcome of added records is in their Delivery, and in `failure`, and is not raised here.
        timestamp: ms since 1970, by default now. partition: by default by the key, as Kafka's clients choose.
        """
        _check_types(key, value, headers)
        if partition is None:
            partition = self._choose_partition(topic, key)
        delivery = Delivery(topic, partition)
        when = self._client.clock.now_ms() if timestamp is None else timestamp
        if self._batches.add((topic, partition), NewRecord(key, value, headers, when), delivery) and key is None:
            self._keyless.switch(topic)
        if self._batches.size >= COLLECTED_BYTES:
            self._send_all()
        return delivery

    @property
    def failure(self) -> KafkaError | None:
        """The error of the first record lost since the last `flush`, which the next one raises; None without one."""
        return self._failure

    def flush(self) -> None:
        """Send everything and wait for the responses.

        Raises the first error since the last flush, including those of records sent by `send`; every Delivery has its
        own.
        """
        self._send_all()
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _send_all(self) -> None:
        while self._batches:
            error = self._send_round(self._batches.take())
            self._failure = self._failure or error

    # --- partitions ---

    def _choose_partition(self, topic: str, key: bytes | None) -> int:
        deadline = self._client.deadline()
        partitions = len(self._client.cluster.topics[topic].partitions) if self._knows(topic) else 0
        if not partitions:
            partitions = self._client.with_retries(lambda: self._count_partitions(topic, deadline), deadline)
        return self._keyless.partition(topic, partitions) if key is None else partition_for_key(key, partitions)

    def _knows(self, topic: str) -> bool:
        info = self._client.cluster.topics.get(topic)
        return info is not None and info.error_code == ErrorCode.NONE

    def _count_partitions(self, topic: str, deadline: Deadline) -> int:
        # The request creates the topic if the broker does that; one of the next attempts finds it.
        return len(self._client.refresh([topic], deadline, auto_create=True).topic(topic).partitions)

    # --- sending ---

    def _send_round(self, taken: dict[TopicPartition, CollectedBatch]) -> KafkaError | None:
        """Send one batch of each partition until it is acknowledged or lost; return the first error."""
        lost: KafkaError | None = None
        try:
            if self._sender is None:
                self._sender = self._open_sender()
            for where, batch in taken.items():
                error = self._enqueue(self._sender, where, batch)
                lost = lost or error
            self._sender.flush()
        except KafkaError as error:
            _fail(taken, error)
            self._gave_up(error)
            return error
        except BaseException as error:
            # Responses may still come after an interrupt, and could not be matched to their requests.
            _fail(taken, error if isinstance(error, Exception) else ConnectionFailed("sending was interrupted"))
            self._discard_sender()
            raise
        return lost

    def _enqueue(self, sender: BatchSender, where: TopicPartition, batch: CollectedBatch) -> KafkaError | None:
        """Enqueue a batch, without the records that cannot be encoded; return the error of the first of these."""
        try:
            sender.enqueue(self._encoded(where, batch), batch.settle)
            return None
        except CANNOT_BE_ENCODED:
            errors = unencodable(where, batch.records)
        batch.leave_out(errors)
        if batch.records:
            sender.enqueue(self._encoded(where, batch), batch.settle)
        return next(iter(errors.values()), None)

    def _encoded(self, where: TopicPartition, batch: CollectedBatch) -> NewBatch:
        return encode(where, batch.records, compression=self._compression, level=self._level)

    def _open_sender(self) -> BatchSender:
        """Return a sender for the next batches. KafkaError if no producer id is available."""
        return self._sender_for(
            request_producer_id(self._client, self._timeout_ms) if self._idempotent else NO_PRODUCER
        )

    def _sender_for(self, identity: ProducerIdentity, **options: Any) -> BatchSender:
        return BatchSender(
            self._client,
            identity,
            acks=self._acks,
            creates_topics=True,
            max_in_flight=1,
            request_bytes=COLLECTED_BYTES,
            delivery_timeout_ms=self._timeout_ms,
            **options,
        )

    def _gave_up(self, error: KafkaError) -> None:
        """Drop the sender: at least one batch was lost, with this error."""
        self._discard_sender()

    def _discard_sender(self) -> None:
        """Stop sending with this producer id: there is, or may be, a gap in the sequence numbers."""
        if self._sender is not None:
            self._sender.close()
            self._sender = None


def request_producer_id(client: Client, timeout_ms: int) -> ProducerIdentity:
    """Return a new producer id, without a transactional id. KafkaError if there is none in time."""
    deadline = client.deadline(timeout_ms)

    def ask() -> ProducerIdentity:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        response: InitProducerIdResponse = client.ask_any(request, deadline)
        raise_for(response.error_code, None, "producer id")
        return ProducerIdentity(response.producer_id, response.producer_epoch)

    return client.with_retries(ask, deadline)


def _fail(taken: dict[TopicPartition, CollectedBatch], error: Exception) -> None:
    for batch in taken.values():
        batch.fail(error)


def _check_types(key: object, value: object, headers: Sequence[tuple[object, object]]) -> None:
    """Raise TypeError for values that cannot be encoded, before they are added to other records."""
    if not (isinstance(key, _BYTES_OR_NONE) and isinstance(value, _BYTES_OR_NONE)):
        raise TypeError(f"key and value are bytes or None, not {type(key).__name__} and {type(value).__name__}")
    for name, content in headers:
        if not (isinstance(name, str) and isinstance(content, _BYTES_OR_NONE)):
            raise TypeError(
                f"a header is a str with bytes or None, not {type(name).__name__} with {type(content).__name__}"
            )
