"""Sends finished record batches of one idempotent or transactional producer, with several requests under way.

Theory of operation: every partition has a queue of batches that are numbered when they come in. Each leader has a
connection of its own; a request carries, of each of its partitions, the first batch that is not under way. Answers are
taken as they come. Where a batch fails for a reason that may pass, its partition stands still until nothing of it is
under way any more, and then goes on from that batch with the same bytes: so the numbers keep the order, and the broker
recognises what it has already.

Invariants: at most MAX_IN_FLIGHT requests are under way to a leader, as brokers remember as many batches of a producer;
memory is bounded by `buffer_bytes`; after an exception the sender sends nothing more.
"""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connection import Connection
from barnabas.client.errors import ConnectionFailed, raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.client.retries import backoffs_ms
from barnabas.client.transaction_requests import ProducerIdentity
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records import batch as batches
from barnabas.protocol.records.batch import BatchHeader, encode_batch, increment_sequence, parse_header
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.record import iter_records

MAX_IN_FLIGHT = 5
BUFFER_BYTES = 16 * 1024 * 1024
REQUEST_BYTES = 1024 * 1024
DELIVERY_TIMEOUT_MS = 120_000

_TOO_LARGE = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})
_PURPOSE = "produce"


@dataclass(frozen=True, slots=True)
class NewBatch:
    """Records of one partition, encoded (and compressed by the codec of that number), without a producer yet."""

    topic: str
    partition: int
    records: Buffer
    count: int
    base_timestamp: int
    max_timestamp: int
    compression: int = 0


@dataclass(slots=True)
class _Pending:
    """A batch until it is acknowledged."""

    data: bytearray
    deadline: Deadline
    is_under_way: bool = False


@dataclass(slots=True)
class _Partition:
    """The batches of one partition, oldest first. `failure` is why it stands still, None while it does not."""

    where: TopicPartition
    next_sequence: int = 0
    failure: KafkaError | None = None
    queue: deque[_Pending] = field(default_factory=deque)
    under_way: int = 0

    def next(self) -> _Pending | None:
        """The batch that may be sent now, if there is one."""
        if self.failure is not None or self.under_way == len(self.queue):
            return None
        return self.queue[self.under_way]


class _Request(NamedTuple):
    parts: list[tuple[_Partition, _Pending]]


class _Lane:
    """What is under way to one leader."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.under_way: deque[_Request] = deque()


class BatchSender:
    """Sends the batches of one producer.

    before_first: is told the partitions that are written for the first time, before they are (AddPartitionsToTxn).
    highest_version: of Produce, for what means something else above it. buffer_bytes: what may wait, in all.
    """

    def __init__(
        self,
        client: Client,
        identity: ProducerIdentity,
        *,
        transactional_id: str | None = None,
        before_first: Callable[[Iterable[TopicPartition]], None] = lambda places: None,
        highest_version: int | None = None,
        first_sequences: dict[TopicPartition, int] | None = None,
        max_in_flight: int = MAX_IN_FLIGHT,
        request_bytes: int = REQUEST_BYTES,
        buffer_bytes: int = BUFFER_BYTES,
        delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS,
    ) -> None:
        self._client = client
        self._identity = identity
        self._transactional_id = transactional_id
        self._before_first = before_first
        self._highest_version = highest_version
        self._first_sequences = first_sequences or {}
        self._max_in_flight = max_in_flight
        self._request_bytes = request_bytes
        self._buffer_bytes = buffer_bytes
        self._timeout_ms = delivery_timeout_ms
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._lanes: dict[int, _Lane] = {}
        self._added: set[TopicPartition] = set()
        self._buffered = 0
        self._pauses = backoffs_ms()

    @property
    def next_sequences(self) -> dict[TopicPartition, int]:
        """The number that the producer goes on with, in each partition that was written."""
        return {where: partition.next_sequence for where, partition in self._partitions.items()}

    def put(self, batch: NewBatch) -> None:
        """Take a batch and send what may be sent; waits while too much is under way. KafkaError if one is lost."""
        where = batch.topic, batch.partition
        partition = self._partitions.get(where)
        if partition is None:
            partition = self._partitions[where] = _Partition(where, self._first_sequences.get(where, 0))
        data = self._seal(batch, partition.next_sequence)
        partition.next_sequence = increment_sequence(partition.next_sequence, batch.count)
        partition.queue.append(_Pending(data, self._client.deadline(self._timeout_ms)))
        self._buffered += len(data)
        self._step(waits=False)
        while self._buffered > self._buffer_bytes:
            self._step(waits=True)

    def flush(self) -> None:
        """Wait until everything is acknowledged."""
        while self._buffered:
            self._step(waits=True)

    def close(self) -> None:
        """Give up what is not answered: connections with answers to come cannot be used again."""
        for lane in self._lanes.values():
            if lane.under_way:
                lane.connection.close()
        self._lanes.clear()

    def _seal(self, batch: NewBatch, sequence: int) -> bytearray:
        transactional = self._transactional_id is not None
        header = BatchHeader(
            base_offset=0,
            batch_length=0,
            partition_leader_epoch=batches.NO_LEADER_EPOCH,
            magic=batches.MAGIC,
            crc=0,
            attributes=batch.compression | transactional * batches.TRANSACTIONAL_MASK,
            last_offset_delta=batch.count - 1,
            base_timestamp=batch.base_timestamp,
            max_timestamp=batch.max_timestamp,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.producer_epoch,
            base_sequence=sequence,
            records_count=batch.count,
        )
        return encode_batch(header, batch.records)

    # --- one round ---

    def _step(self, *, waits: bool) -> None:
        """Send what may be sent, take the answers that are there; where told to, wait for one, or for a pause's end."""
        self._send()
        took = self._take_answers(waits=waits)
        if any(each.failure for each in self._partitions.values()):
            self._go_on_after_failures()
        elif took:
            self._pauses = backoffs_ms()

    def _send(self) -> None:
        ready = [each for each in self._partitions.values() if each.next() is not None]
        new = [each.where for each in ready if each.where not in self._added]
        if new:
            self._before_first(new)
            self._added.update(new)
        by_leader: dict[int, list[_Partition]] = {}
        for partition in ready:
            try:
                leader = self._client.leader(*partition.where, self._client.deadline())
            except KafkaError as error:
                self._fail(partition, error)
            else:
                by_leader.setdefault(leader, []).append(partition)
        for leader, partitions in by_leader.items():
            self._send_to(leader, partitions)

    def _send_to(self, leader: int, partitions: list[_Partition]) -> None:
        while partitions:
            lane = self._lanes.get(leader)
            if lane is not None and len(lane.under_way) >= self._max_in_flight:
                return
            parts: list[tuple[_Partition, _Pending]] = []
            size = 0
            for partition in partitions:
                batch = partition.next()
                if batch is not None and (not parts or size + len(batch.data) <= self._request_bytes):
                    parts.append((partition, batch))
                    size += len(batch.data)
            if not parts:
                return
            # Who was served goes to the end, so that the others have their turn when not all fit in.
            served = {id(partition) for partition, _ in parts}
            partitions = [each for each in partitions if id(each) not in served] + [each for each, _ in parts]
            if not self._submit(leader, _Request(parts)):
                return

    def _submit(self, leader: int, request: _Request) -> bool:
        deadline = min((batch.deadline for _, batch in request.parts), key=lambda each: each.left_ms)
        for partition, batch in request.parts:
            partition.under_way += 1
            batch.is_under_way = True
        lane = self._lanes.get(leader)
        try:
            if lane is None:
                lane = self._lanes[leader] = _Lane(self._client.node_for(leader, _PURPOSE, deadline))
            lane.under_way.append(request)
            lane.connection.send(self._message(request), deadline, highest_version=self._highest_version)
        except KafkaError as error:
            if lane is None:
                self._answered(request, dict.fromkeys([each.where for each, _ in request.parts], error))
            else:
                self._lose(leader, error)
            return False
        return True

    def _message(self, request: _Request) -> ProduceRequest:
        topics: dict[str, list[PartitionProduceData]] = {}
        for partition, batch in request.parts:
            topic, number = partition.where
            topics.setdefault(topic, []).append(PartitionProduceData(index=number, records=batch.data))
        return ProduceRequest(
            transactional_id=self._transactional_id,
            acks=-1,
            timeout_ms=self._client.timeout_ms,
            topic_data=[TopicProduceData(name=name, partition_data=data) for name, data in topics.items()],
        )

    # --- answers ---

    def _take_answers(self, *, waits: bool) -> bool:
        """Whether there was any."""
        busy = {node: lane for node, lane in self._lanes.items() if lane.under_way}
        if busy and waits:
            left_s = max(0.001, min(self._oldest_deadline().left_s, self._client.timeout_ms / 1000))
            readable = select.select([lane.connection for lane in busy.values()], [], [], left_s)[0]
            if not readable:
                for node in busy:
                    self._lose(node, ConnectionFailed(f"{self._lanes[node].connection.address} did not answer in time"))
                return False
        took = False
        for node, lane in busy.items():
            try:
                while lane.under_way and lane.connection.is_answered:
                    response = lane.connection.receive(self._client.deadline())
                    request = lane.under_way.popleft()
                    self._answered(request, _read(response, request))
                    took = True
            except ConnectionFailed as error:
                self._lose(node, error)
        return took

    def _lose(self, node: int, error: KafkaError) -> None:
        """The connection is gone: what was under way there may have arrived, or not."""
        lane = self._lanes.pop(node)
        lane.connection.close()
        while lane.under_way:
            request = lane.under_way.popleft()
            self._answered(request, dict.fromkeys([each.where for each, _ in request.parts], error))

    def _answered(self, request: _Request, outcomes: dict[TopicPartition, KafkaError | None]) -> None:
        for partition, batch in request.parts:
            partition.under_way -= 1
            batch.is_under_way = False
            error = outcomes[partition.where]
            if error is None or error.code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                if partition.queue[0] is not batch:
                    raise KafkaError(
                        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                        f"{partition.where[0]}-{partition.where[1]} took a batch before the one that comes first",
                    )
                partition.queue.popleft()
                self._buffered -= len(batch.data)
            elif error.code in _TOO_LARGE and parse_header(batch.data).records_count > 1:
                self._halve(partition, batch, error)
            elif error.code.retriable or self._is_behind_a_failure(partition, batch, error):
                self._fail(partition, error)
            else:
                raise error

    def _is_behind_a_failure(self, partition: _Partition, batch: _Pending, error: KafkaError) -> bool:
        return error.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and partition.queue[0] is not batch

    def _fail(self, partition: _Partition, error: KafkaError) -> None:
        if partition.failure is None or partition.failure.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            partition.failure = error

    def _halve(self, partition: _Partition, batch: _Pending, error: KafkaError) -> None:
        """The topic takes no batch as large as that: two of half the records, under the same numbers."""
        index = next(at for at, each in enumerate(partition.queue) if each is batch)
        halves = [_Pending(data, batch.deadline) for data in split(batch.data)]
        self._buffered += sum(len(each.data) for each in halves) - len(batch.data)
        del partition.queue[index]
        for each in reversed(halves):
            partition.queue.insert(index, each)
        self._fail(partition, error)

    def _go_on_after_failures(self) -> None:
        """Look for the leaders again, after a pause, and let those go on of whom nothing is under way."""
        failed = [each for each in self._partitions.values() if each.failure is not None and not each.under_way]
        if not failed:
            return
        for each in failed:
            assert each.failure is not None
            if each.queue[0].deadline.is_over:
                raise each.failure
        pause_s = next(self._pauses) / 1000 if any(_is_worth_a_pause(each.failure) for each in failed) else 0.0
        self._client.clock.sleep(min(pause_s, max(self._oldest_deadline().left_s, 0.0)))
        self._client.forget({each.where[0] for each in failed})
        for each in failed:
            each.failure = None

    def _oldest_deadline(self) -> Deadline:
        waiting = (each.queue[0].deadline for each in self._partitions.values() if each.queue)
        return min(waiting, key=lambda each: each.left_ms)


def split(data: bytearray) -> list[bytearray]:
    """The batch as two, with half its records each, and the numbers that these had in it."""
    header = parse_header(data)
    records = list(iter_records(data))
    middle = len(records) // 2
    return [
        build_batch(
            part,
            compression=header.compression,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=increment_sequence(header.base_sequence, start),
            transactional=header.is_transactional,
        )
        for start, part in ((0, records[:middle]), (middle, records[middle:]))
    ]


def _is_worth_a_pause(failure: KafkaError | None) -> bool:
    return failure is not None and failure.code not in _TOO_LARGE


def _read(response: ProduceResponse, request: _Request) -> dict[TopicPartition, KafkaError | None]:
    outcomes: dict[TopicPartition, KafkaError | None] = {
        each.where: KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{each.where[0]}-{each.where[1]} has no answer")
        for each, _ in request.parts
    }
    for topic in response.responses:
        for answer in topic.partition_responses:
            try:
                details = [each.batch_index_error_message or "" for each in answer.record_errors]
                message = "; ".join(filter(None, [answer.error_message, *details])) or None
                raise_for(answer.error_code, message, f"{topic.name}-{answer.index}")
                outcomes[topic.name, answer.index] = None
            except KafkaError as error:
                outcomes[topic.name, answer.index] = error
    return outcomes
