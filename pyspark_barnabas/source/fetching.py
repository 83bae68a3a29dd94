"""One range of offsets, fetched: the batches of the wire, answer by answer, while the next answer is on its way.

Theory of operation: an answer's batch headers contain the next offset, so the next request is sent before the records
are yielded; its answer waits in the kernel's buffer. Each request is for about the rest of the range, estimated
by the bytes per offset so far. Reading ends when the next offset is not below the end of the range, which control
batches, aborted transactions and offsets that compaction removed advance it to as well.

Retriable errors are retried, with the leader looked up again, until nothing has come for the whole patience. Three
conditions end a range early: offsets that are gone, a partition that is gone, and an end that does not come. The caller
gets a KafkaError (OFFSET_OUT_OF_RANGE, or one of GONE) or Unfinished.

Memory: one answer and one in the kernel, whatever the size of the range.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.connection import BrokerConnection
from barnabas.client.connections.retries import backoffs_ms
from barnabas.client.consume.decoding import Aborted
from barnabas.client.errors import raise_for
from barnabas.client.offsets import READ_COMMITTED
from barnabas.protocol.errors import DecodeError, ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from barnabas.protocol.records.batch import BatchHeader, iter_batches
from pyspark_barnabas.source.errors import SourceError
from pyspark_barnabas.source.ranges import OffsetRange

_FIRST_BYTES = 1 << 20
_LEAST_BYTES = 1 << 16
_MOST_BYTES = 64 << 20  # for a batch that is not complete otherwise
_WAIT_MS = 500
_GONE_AFTER_MS = 5_000  # a topic that was just created is not known to all brokers

GONE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


Batch = tuple[BatchHeader, memoryview]


class Unfinished(SourceError):
    """The end of the range does not come."""


class FetchedBatches(NamedTuple):
    """Whole batches with their headers, the first of which may begin before `start`, the requested offset.

    aborted: the transactions among them that were aborted; None if they were not requested.
    """

    start: int
    batches: list[Batch]
    aborted: list[Aborted] | None


class Fetcher:
    """Fetches one range. `position` is the next offset; a caller that sets it continues from there.

    isolation: as in barnabas.client.offsets. fetch_bytes: the limit for one answer, unless one batch is larger.
    patience_ms: how long nothing may come before that is an error.
    """

    def __init__(
        self, client: Client, wanted: OffsetRange, *, isolation: int, fetch_bytes: int, patience_ms: int
    ) -> None:
        self.position = wanted.start
        self._client = client
        self._wanted = wanted
        self._isolation = isolation
        self._fetch_bytes = fetch_bytes
        self._patience_ms = patience_ms
        self._bytes = min(_FIRST_BYTES, fetch_bytes)
        self._ahead: BrokerConnection | None = None  # the connection that has a request in flight

    def answers(self) -> Iterator[FetchedBatches]:
        """Yield everything up to the end of the range. Batches at both ends of it may reach beyond."""
        try:
            while self.position < self._wanted.end:
                answer, size = self._next_answer()
                before, self.position = self.position, answer.batches[-1][0].next_offset
                self._choose_size(size, self.position - before)
                if self.position < self._wanted.end:
                    self._send_ahead()
                yield answer
        finally:
            if self._ahead is not None:
                self._ahead.close()  # its answer must not be read as that of another request
                self._ahead = None

    def _next_answer(self) -> tuple[FetchedBatches, int]:
        """Return an answer that advances the position, and its size in bytes; retry until there is one."""
        patience = self._client.deadline(self._patience_ms)
        pauses_ms = backoffs_ms()
        while True:
            try:
                data = self._ask()
            except KafkaError as error:
                pause_ms = next(pauses_ms)
                if not error.code.retriable or patience.left_ms <= pause_ms or self._is_gone(error, patience):
                    raise
                self._client.clock.sleep(pause_ms / 1000)
                self._client.forget([self._wanted.topic])
                continue
            batches = self._whole_batches(data)
            if batches and batches[-1][0].next_offset > self.position:
                return FetchedBatches(self.position, batches, self._aborted(data)), len(data.records or b"")
            if data.records and not batches:
                self._bytes = min(2 * self._bytes, _MOST_BYTES)
            if patience.is_over:
                raise Unfinished(self._describe_missing(data))

    def _is_gone(self, error: KafkaError, patience: Deadline) -> bool:
        """Return whether brokers have reported for long enough that there is no such partition."""
        return error.code in GONE and patience.left_ms < self._patience_ms - _GONE_AFTER_MS

    def _ask(self) -> PartitionData:
        connection, self._ahead = self._ahead, None
        deadline = self._client.deadline()
        if connection is None:
            connection = self._send(deadline)
        response: FetchResponse = connection.receive(deadline)
        raise_for(response.error_code, None, f"fetch of {self._wanted}")
        for topic in response.responses:
            for data in topic.partitions:
                raise_for(data.error_code, None, f"{topic.topic}-{data.partition_index} at offset {self.position}")
                return data
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{self._wanted} is missing from the answer")

    def _send(self, deadline: Deadline) -> BrokerConnection:
        leader = self._client.leader(*self._wanted.where, deadline)
        connection = self._client.node(leader, deadline)
        connection.send(self._request(), deadline)
        return connection

    def _send_ahead(self) -> None:
        # If this fails, the received batches are yielded first; then the request is sent again, and its error counts.
        with suppress(KafkaError):
            self._ahead = self._send(self._client.deadline())

    def _request(self) -> FetchRequest:
        wanted = FetchPartition(
            partition=self._wanted.partition, fetch_offset=self.position, partition_max_bytes=self._bytes
        )
        return FetchRequest(
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=self._bytes,
            isolation_level=self._isolation,
            topics=[FetchTopic(topic=self._wanted.topic, partitions=[wanted])],
        )

    def _choose_size(self, came_bytes: int, came_offsets: int) -> None:
        left = self._wanted.end - self.position
        self._bytes = max(_LEAST_BYTES, min(self._fetch_bytes, _LEAST_BYTES + came_bytes * left // came_offsets))

    def _whole_batches(self, data: PartitionData) -> list[Batch]:
        view = memoryview(data.records or b"")
        try:
            return [(header, view[start : start + header.size_in_bytes]) for start, header in iter_batches(view)]
        except DecodeError as error:
            raise SourceError(f"{self._name} is damaged after offset {self.position}: {error}") from error

    def _aborted(self, data: PartitionData) -> list[Aborted] | None:
        if self._isolation != READ_COMMITTED:
            return None
        return [Aborted(txn.producer_id, txn.first_offset) for txn in data.aborted_transactions or ()]

    @property
    def _name(self) -> str:
        return f"{self._wanted.topic}-{self._wanted.partition}"

    def _describe_missing(self, data: PartitionData) -> str:
        waited = f"no record came for {self._patience_ms / 1000:g} s"
        if data.records:
            return f"{self._name}: {waited} of the batch at offset {self.position}, as it is too large"
        end = data.last_stable_offset if self._isolation == READ_COMMITTED else data.high_watermark
        held = " (an open transaction begins there)" if end < data.high_watermark else ""
        return f"{self._name} was to be read up to {self._wanted.end}, but ends at {end}{held}: {waited}"
