"""A producer: records in, batches out, acknowledged or an error for each record.

Theory of operation: `send` collects; `flush`, or enough bytes, sends the oldest batch of every partition, one request
per leader, and asks again (same bytes, same sequence numbers) while the error is one that may pass. With idempotence
the broker recognises what it already has, so nothing is doubled. After a batch that was given up its partition's
sequence numbers cannot go on: a new producer id is asked for.

Invariants: of one partition one batch is in flight at a time, so records keep their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.errors import raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.client.produce.batching import Batches, Delivery, PendingBatch
from barnabas.client.produce.partitioner import KeylessPartitioner, partition_for_key
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, increment_sequence
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.compression import COMPRESSION_IDS

BATCH_BYTES = 256 * 1024
BUFFER_BYTES = 4 * 1024 * 1024
DELIVERY_TIMEOUT_MS = 120_000

ALL, LEADER, NOBODY = -1, 1, 0  # acks


class Producer:
    """Sends records through a Client.

    acks: -1 all replicas in sync, 1 the leader, 0 nobody (then offsets are -1 and errors are not known).
    idempotent: retries never double a record; needs acks -1.
    compression: none, gzip, snappy, lz4 or zstd; `level` on the codec's own scale.
    """

    def __init__(
        self,
        client: Client,
        *,
        acks: int = ALL,
        idempotent: bool = True,
        compression: str = "none",
        level: int | None = None,
        batch_bytes: int = BATCH_BYTES,
        delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS,
    ) -> None:
        if acks not in (ALL, LEADER, NOBODY):
            raise ValueError(f"acks is -1, 0 or 1, not {acks}")
        self._client = client
        self._acks = acks
        self._idempotent = idempotent and acks == ALL
        self._compression = COMPRESSION_IDS[compression]
        self._level = level
        self._timeout_ms = delivery_timeout_ms
        self._batches = Batches(batch_bytes)
        self._keyless = KeylessPartitioner()
        self._producer_id, self._producer_epoch = NO_PRODUCER_ID, NO_PRODUCER_EPOCH
        self._sequences: dict[TopicPartition, int] = {}
        self._transactional_id: str | None = None
        self._highest_version: int | None = None

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
        """Take a record; it is sent when there is enough or at `flush`. KafkaError if the topic cannot be had.

        timestamp: ms since 1970, by default now. partition: by default by the key, as Kafka's clients choose.
        """
        if partition is None:
            partition = self._choose_partition(topic, key)
        delivery = Delivery(topic, partition)
        when = self._client.clock.now_ms() if timestamp is None else timestamp
        if self._batches.add((topic, partition), NewRecord(key, value, headers, when), delivery) and key is None:
            self._keyless.switch(topic)
        if self._batches.size >= BUFFER_BYTES:
            self.flush()
        return delivery

    def flush(self) -> None:
        """Send everything and wait for the answers. Raises the first error; every Delivery knows its own."""
        failure: Exception | None = None
        while self._batches:
            failure = self._send_batches(self._batches.take()) or failure
        if failure is not None:
            raise failure

    # --- partitions and producer ids ---

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
        # Asking creates the topic where the broker does such things; it is there at one of the next attempts.
        return len(self._client.refresh([topic], deadline, auto_create=True).topic(topic).partitions)

    def _prepare(self, places: Iterable[TopicPartition], deadline: Deadline) -> None:
        """Whatever has to be done before batches for these partitions can be made. KafkaError if it cannot."""
        if not self._idempotent or self._producer_id != NO_PRODUCER_ID:
            return

        def ask() -> InitProducerIdResponse:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
            response: InitProducerIdResponse = self._client.ask_any(request, deadline)
            raise_for(response.error_code, None, "producer id")
            return response

        response = self._client.with_retries(ask, deadline)
        self._producer_id, self._producer_epoch = response.producer_id, response.producer_epoch
        self._sequences.clear()

    def _gave_up(self, failure: Exception) -> None:
        """At least one batch will not be sent again."""
        self._producer_id = NO_PRODUCER_ID  # what was given up leaves a gap in the sequence numbers

    # --- sending ---

    def _send_batches(self, pending: dict[TopicPartition, PendingBatch]) -> Exception | None:
        """Send one batch per partition until each is delivered or given up; the first failure."""
        deadline = self._client.deadline(self._timeout_ms)
        failure: Exception | None = None
        try:
            self._prepare(pending, deadline)
        except KafkaError as error:
            for batch in pending.values():
                _fail(batch, error)
            self._gave_up(error)
            return error
        encoded = {where: self._encode(where, batch) for where, batch in pending.items()}

        def attempt() -> None:
            nonlocal failure
            waiting: KafkaError | None = None
            for where, error in self._attempt(encoded, pending, deadline).items():
                if error is not None and error.code.retriable:
                    waiting = error
                    continue
                del encoded[where]
                if error is not None:
                    _fail(pending[where], error)
                    failure = failure or error
            if waiting is not None:
                raise waiting

        try:
            self._client.with_retries(attempt, deadline, lambda error: self._look_again(encoded))
        except KafkaError as error:
            for where in encoded:
                _fail(pending[where], error)
            failure = failure or error
        if failure is not None:
            self._gave_up(failure)
        return failure

    def _encode(self, where: TopicPartition, batch: PendingBatch) -> bytearray:
        sequence = self._sequences.get(where, 0) if self._idempotent else NO_SEQUENCE
        if self._idempotent:
            self._sequences[where] = increment_sequence(sequence, len(batch.records))
        return build_batch(
            batch.records,
            compression=self._compression,
            level=self._level,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=sequence,
            transactional=self._transactional_id is not None,
        )

    def _look_again(self, encoded: dict[TopicPartition, bytearray]) -> None:
        self._client.forget({topic for topic, _ in encoded})

    def _attempt(
        self, encoded: dict[TopicPartition, bytearray], pending: dict[TopicPartition, PendingBatch], deadline: Deadline
    ) -> dict[TopicPartition, KafkaError | None]:
        """One request to each leader; an outcome for every partition."""
        outcomes: dict[TopicPartition, KafkaError | None] = {}
        by_leader: dict[int, list[TopicPartition]] = {}
        for where in encoded:
            try:
                leader = self._client.leader(*where, deadline, auto_create=True)
                by_leader.setdefault(leader, []).append(where)
            except KafkaError as error:
                outcomes[where] = error
        for leader, places in by_leader.items():
            try:
                outcomes |= self._produce(leader, {where: encoded[where] for where in places}, pending, deadline)
            except KafkaError as error:
                outcomes |= dict.fromkeys(places, error)
        return outcomes

    def _produce(
        self,
        leader: int,
        encoded: dict[TopicPartition, bytearray],
        pending: dict[TopicPartition, PendingBatch],
        deadline: Deadline,
    ) -> dict[TopicPartition, KafkaError | None]:
        topics: dict[str, list[PartitionProduceData]] = {}
        for (topic, partition), batch in encoded.items():
            topics.setdefault(topic, []).append(PartitionProduceData(index=partition, records=batch))
        request = ProduceRequest(
            transactional_id=self._transactional_id,
            acks=self._acks,
            timeout_ms=min(deadline.left_ms, self._client.timeout_ms),
            topic_data=[TopicProduceData(name=name, partition_data=data) for name, data in topics.items()],
        )
        if self._acks == NOBODY:
            self._client.node(leader, deadline).tell(request, deadline)
            for where in encoded:
                _succeed(pending[where], None)
            return dict.fromkeys(encoded)
        response: ProduceResponse = self._client.node(leader, deadline).ask(
            request, deadline, highest_version=self._highest_version
        )
        return _read_outcomes(response, encoded, pending)


def _read_outcomes(
    response: ProduceResponse,
    encoded: dict[TopicPartition, bytearray],
    pending: dict[TopicPartition, PendingBatch],
) -> dict[TopicPartition, KafkaError | None]:
    outcomes: dict[TopicPartition, KafkaError | None] = {
        where: KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{where[0]}-{where[1]} is missing from the answer")
        for where in encoded
    }
    for topic in response.responses:
        for answer in topic.partition_responses:
            where = topic.name, answer.index
            if where not in encoded:
                continue
            try:
                details = [error.batch_index_error_message or "" for error in answer.record_errors]
                message = "; ".join(filter(None, [answer.error_message, *details])) or None
                raise_for(answer.error_code, message, f"{where[0]}-{where[1]}")
            except KafkaError as error:
                outcomes[where] = error
            else:
                _succeed(pending[where], answer.base_offset)
                outcomes[where] = None
    return outcomes


def _succeed(batch: PendingBatch, base_offset: int | None) -> None:
    for index, delivery in enumerate(batch.deliveries):
        delivery.offset = -1 if base_offset is None or base_offset < 0 else base_offset + index


def _fail(batch: PendingBatch, error: Exception) -> None:
    for delivery in batch.deliveries:
        delivery.error = error
