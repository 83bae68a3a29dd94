"""Sends record batches of one producer, with several requests in flight: the only module that decides on retries.

Theory of operation: every partition has a queue of batches that get their sequence numbers when they are enqueued. Each
leader has a separate connection; a request has, of each of its partitions, the first batch that is not in flight.
Responses are processed as they come. If a batch fails with a retriable error, its partition pauses until none of its
batches is in flight, and then continues from that batch with the same bytes: so the sequence numbers keep the order,
and the broker recognises duplicates. A batch that is too large for the topic is split in halves. A batch that cannot
be sent is lost: that is raised at once, or reported to the `report` of the caller that enqueued it.

Invariants: at most `max_in_flight` requests are in flight to a leader; it is never more than MAX_IN_FLIGHT for a
producer with an id, as brokers store so many batches of it, and 1 for one without, so that records keep their order.
Memory is bounded by `buffer_bytes` if batches are `put`; after an exception the sender sends nothing more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection, wait_for_answer
from barnabas.client.connections.retries import backoffs_ms
from barnabas.client.errors import ConnectionFailed, raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.client.produce.new_batch import NewBatch, seal
from barnabas.client.produce.partition_queue import Outcome, PartitionQueue, PendingBatch, Report
from barnabas.client.transaction_requests import NO_PRODUCER, ProducerIdentity
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.records.batch import NO_SEQUENCE, increment_sequence

MAX_IN_FLIGHT = 5
BUFFER_BYTES = 16 * 1024 * 1024
REQUEST_BYTES = 1024 * 1024
DELIVERY_TIMEOUT_MS = 120_000

ACKS_ALL, ACKS_LEADER, ACKS_NONE = -1, 1, 0

_TOO_LARGE = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE})
_PURPOSE = "produce"


class _Request(NamedTuple):
    parts: list[tuple[PartitionQueue, PendingBatch]]

    def all_with(self, outcome: Outcome) -> dict[TopicPartition, Outcome]:
        return {queue.where: outcome for queue, _ in self.parts}


class _Lane:
    """The requests in flight to one leader."""

    def __init__(self, connection: BrokerConnection) -> None:
        self.connection = connection
        self.under_way: deque[_Request] = deque()


class BatchSender:
    """A sender of the batches of one producer. NO_PRODUCER has no id: the broker detects no duplicates.

    before_first: gets the partitions before they are written for the first time (AddPartitionsToTxn).
    highest_version: of Produce, if higher versions have another meaning. buffer_bytes: the limit of all queued bytes.
    creates_topics: whether a request for a leader may create the topic.
    """

    def __init__(
        self,
        client: Client,
        identity: ProducerIdentity,
        *,
        transactional_id: str | None = None,
        acks: int = ACKS_ALL,
        before_first: Callable[[Iterable[TopicPartition]], None] = lambda places: None,
        highest_version: int | None = None,
        first_sequences: dict[TopicPartition, int] | None = None,
        creates_topics: bool = False,
        max_in_flight: int = MAX_IN_FLIGHT,
        request_bytes: int = REQUEST_BYTES,
        buffer_bytes: int = BUFFER_BYTES,
        delivery_timeout_ms: int = DELIVERY_TIMEOUT_MS,
    ) -> None:
        self._client = client
        self._identity = identity
        self._transactional_id = transactional_id
        self._acks = acks
        self._before_first = before_first
        self._highest_version = highest_version
        self._first_sequences = first_sequences or {}
        self._creates_topics = creates_topics
        self._max_in_flight = max_in_flight
        self._request_bytes = request_bytes
        self._buffer_bytes = buffer_bytes
        self._timeout_ms = delivery_timeout_ms
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._lanes: dict[int, _Lane] = {}
        self._added: set[TopicPartition] = set()
        self._buffered = 0
        self._first_loss: KafkaError | None = None
        self._pauses = backoffs_ms()

    @property
    def next_sequences(self) -> dict[TopicPartition, int]:
        """The next sequence number of the producer, in each partition that was written."""
        return {where: queue.next_sequence for where, queue in self._queues.items()}

    def enqueue(self, batch: NewBatch, report: Report | None = None) -> None:
        """Enqueue a batch, to be sent by the next `put` or `flush`.

        report: gets the outcome. Without one, the loss of the batch is raised as soon as it is known.
        """
        where = batch.topic, batch.partition
        queue = self._queues.get(where)
        if queue is None:
            queue = self._queues[where] = PartitionQueue(where, self._first_sequences.get(where, 0))
        sequence = NO_SEQUENCE if self._identity == NO_PRODUCER else queue.next_sequence
        data = seal(batch, self._identity, sequence, transactional=self._transactional_id is not None)
        queue.next_sequence = increment_sequence(queue.next_sequence, batch.count)
        queue.batches.append(PendingBatch(data, self._client.deadline(self._timeout_ms), report))
        self._buffered += len(data)

    def put(self, batch: NewBatch) -> None:
        """Enqueue a batch and send what may be sent; waits while too much is in flight. KafkaError if one is lost."""
        self.put_all([batch])

    def put_all(self, batches: Iterable[NewBatch]) -> None:
        """Enqueue several batches: as many as fit in a request are taken before anything is sent."""
        taken = 0
        for batch in batches:
            self.enqueue(batch)
            taken += len(batch.records)
            if taken >= min(self._request_bytes, self._buffer_bytes):
                self._push()
                taken = 0
        self._push()

    def _push(self) -> None:
        self._step(waits=False)
        while self._buffered > self._buffer_bytes:
            self._step(waits=True)

    def flush(self) -> None:
        """Wait until everything is acknowledged or lost. KafkaError for the first that is lost."""
        while self._buffered:
            self._step(waits=True)
        if self._first_loss is not None:
            raise self._first_loss

    def close(self) -> None:
        """Drop unacknowledged batches: connections with outstanding responses cannot be used again."""
        for lane in self._lanes.values():
            if lane.under_way:
                lane.connection.close()
        self._lanes.clear()

    # --- one round ---

    def _step(self, *, waits: bool) -> None:
        """Send what may be sent, process received responses; with `waits` wait for one, or for the end of a pause."""
        self._send()
        took = self._take_answers(waits=waits)
        if any(each.failure for each in self._queues.values()):
            self._go_on_after_failures()
        elif took:
            self._pauses = backoffs_ms()

    def _send(self) -> None:
        by_leader: dict[int, list[PartitionQueue]] = {}
        for queue in self._queues.values():
            batch = queue.next()
            if batch is None:
                continue
            try:
                deadline = self._client.deadline()
                leader = self._client.leader(*queue.where, deadline, auto_create=self._creates_topics)
            except KafkaError as error:
                self._refused(queue, batch, error)
            else:
                by_leader.setdefault(leader, []).append(queue)
        # Only now, as the request for the leader may have created the topic.
        found = [each for queues in by_leader.values() for each in queues]
        self._announce([each for each in found if each.where not in self._added])
        for leader, queues in by_leader.items():
            self._send_to(leader, queues)

    def _announce(self, new: list[PartitionQueue]) -> None:
        if not new:
            return
        try:
            self._before_first([each.where for each in new])
        except KafkaError as error:
            for each in new:
                self._lose(each, each.batches[0], error)
        else:
            self._added.update(each.where for each in new)

    def _send_to(self, leader: int, queues: list[PartitionQueue]) -> None:
        while queues:
            lane = self._lanes.get(leader)
            if lane is not None and len(lane.under_way) >= self._max_in_flight:
                return
            parts: list[tuple[PartitionQueue, PendingBatch]] = []
            size = 0
            for queue in queues:
                batch = queue.next()
                if batch is not None and (not parts or size + len(batch.data) <= self._request_bytes):
                    parts.append((queue, batch))
                    size += len(batch.data)
            if not parts:
                return
            # Served queues go to the end, so that the others have their turn when not all fit in.
            served = {id(queue) for queue, _ in parts}
            queues = [each for each in queues if id(each) not in served] + [each for each, _ in parts]
            if not self._submit(leader, _Request(parts)):
                return

    def _submit(self, leader: int, request: _Request) -> bool:
        deadline = min((batch.deadline for _, batch in request.parts), key=lambda each: each.left_ms)
        for queue, batch in request.parts:
            queue.start(batch)
        lane = self._lanes.get(leader)
        if lane is not None and not lane.under_way and not lane.connection.is_open:
            lane = None  # the client was closed since, or another user of this connection lost it
        try:
            if lane is None:
                lane = self._lanes[leader] = _Lane(self._client.node(leader, deadline, _PURPOSE))
            lane.under_way.append(request)
            lane.connection.send(
                self._message(request, deadline),
                deadline,
                highest_version=self._highest_version,
                answered=self._acks != ACKS_NONE,
            )
        except KafkaError as error:
            if lane is None:
                self._answered(request, request.all_with(error))
            else:
                self._lose_lane(leader, error)
            return False
        if self._acks == ACKS_NONE:
            self._answered(lane.under_way.pop(), request.all_with(-1))
        return True

    def _message(self, request: _Request, deadline: Deadline) -> ProduceRequest:
        topics: dict[str, list[PartitionProduceData]] = {}
        for queue, batch in request.parts:
            topic, number = queue.where
            topics.setdefault(topic, []).append(PartitionProduceData(index=number, records=batch.data))
        return ProduceRequest(
            transactional_id=self._transactional_id,
            acks=self._acks,
            timeout_ms=min(deadline.left_ms, self._client.timeout_ms),
            topic_data=[TopicProduceData(name=name, partition_data=data) for name, data in topics.items()],
        )

    # --- responses ---

    def _take_answers(self, *, waits: bool) -> bool:
        """Process received responses; return whether there was any."""
        busy = {node: lane for node, lane in self._lanes.items() if lane.under_way}
        if busy and waits:
            left_s = max(0.001, min(self._oldest_deadline().left_s, self._client.timeout_ms / 1000))
            if not wait_for_answer([lane.connection for lane in busy.values()], left_s):
                for node, lane in busy.items():
                    self._lose_lane(node, ConnectionFailed(f"{lane.connection.address} did not answer in time"))
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
                self._lose_lane(node, error)
        return took

    def _lose_lane(self, node: int, error: KafkaError) -> None:
        """Drop a lost connection: the requests in flight may have arrived, or not."""
        lane = self._lanes.pop(node)
        lane.connection.close()
        while lane.under_way:
            request = lane.under_way.popleft()
            self._answered(request, request.all_with(error))

    def _answered(self, request: _Request, outcomes: dict[TopicPartition, Outcome]) -> None:
        for queue, batch in request.parts:
            queue.stop(batch)
            outcome = outcomes[queue.where]
            if isinstance(outcome, KafkaError):
                self._refused(queue, batch, outcome)
            else:
                self._acknowledged(queue, batch, outcome)

    def _acknowledged(self, queue: PartitionQueue, batch: PendingBatch, base_offset: int) -> None:
        first = queue.batches[0]
        queue.batches.remove(batch)
        self._buffered -= len(batch.data)
        batch.complete(base_offset)
        # A batch in flight to the previous leader still gets its own response, which decides.
        if first is not batch and not first.is_under_way:
            where = f"{queue.where[0]}-{queue.where[1]}"
            reason = f"{where} accepted a batch before the one that is first in order"
            self._lose(queue, first, KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason))

    # --- failures ---

    def _refused(self, queue: PartitionQueue, batch: PendingBatch, error: KafkaError) -> None:
        """Handle an error of a batch: it is there already, too large, to be retried, or lost."""
        if error.code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            self._acknowledged(queue, batch, -1)
        elif error.code in _TOO_LARGE and batch.count > 1:
            self._buffered += queue.halve(batch)
            self._stand_still(queue, error)
        elif error.code.retriable or self._is_behind_a_failure(queue, batch, error):
            self._stand_still(queue, error)
        else:
            self._lose(queue, batch, error)

    def _is_behind_a_failure(self, queue: PartitionQueue, batch: PendingBatch, error: KafkaError) -> bool:
        return error.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and queue.batches[0] is not batch

    def _stand_still(self, queue: PartitionQueue, error: KafkaError) -> None:
        if queue.failure is None or queue.failure.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            queue.failure = error

    def _lose(self, queue: PartitionQueue, batch: PendingBatch, error: KafkaError) -> None:
        """Drop the batch, and those that wait behind it: the sequence numbers cannot continue after a gap."""
        if batch.report is None:
            raise error
        self._first_loss = self._first_loss or error
        for each in queue.drop_from(batch):
            self._buffered -= len(each.data)
            each.complete(error)

    def _go_on_after_failures(self) -> None:
        """Look up the leaders again, after a pause, and resume the partitions with no batch in flight.

        A batch without time left is lost with the error of its failure, as in barnabas.client.connections.retries.
        """
        failed = [each for each in self._queues.values() if each.failure is not None and not each.under_way]
        if not failed:
            return
        pause_ms = next(self._pauses) if any(_is_worth_a_pause(each.failure) for each in failed) else 0.0
        again: list[PartitionQueue] = []
        for each in failed:
            if each.failure is not None and each.batches[0].deadline.left_ms <= pause_ms:
                self._lose(each, each.batches[0], each.failure)
            else:
                again.append(each)
        if not again:
            return
        self._client.clock.sleep(min(pause_ms / 1000, self._oldest_deadline().left_s))
        self._client.forget({each.where[0] for each in again})
        for each in again:
            each.failure = None

    def _oldest_deadline(self) -> Deadline:
        waiting = (each.batches[0].deadline for each in self._queues.values() if each.batches)
        return min(waiting, key=lambda each: each.left_ms)


def _is_worth_a_pause(failure: KafkaError | None) -> bool:
    return failure is not None and failure.code not in _TOO_LARGE


def _read(response: ProduceResponse, request: _Request) -> dict[TopicPartition, Outcome]:
    outcomes: dict[TopicPartition, Outcome] = {
        each.where: KafkaError(
            ErrorCode.UNKNOWN_SERVER_ERROR, f"{each.where[0]}-{each.where[1]} is missing from the answer"
        )
        for each, _ in request.parts
    }
    for topic in response.responses:
        for answer in topic.partition_responses:
            try:
                details = [each.batch_index_error_message or "" for each in answer.record_errors]
                message = "; ".join(filter(None, [answer.error_message, *details])) or None
                raise_for(answer.error_code, message, f"{topic.name}-{answer.index}")
                outcomes[topic.name, answer.index] = answer.base_offset
            except KafkaError as error:
                outcomes[topic.name, answer.index] = error
    return outcomes
