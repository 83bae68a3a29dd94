"""A consumer of assigned partitions: positions, fetches, records.

Theory of operation: each poll sends one Fetch per leader for all assigned partitions and turns what comes back into
records; positions move past everything seen, control batches and aborted transactions included. Who assigns the
partitions is somebody else: the caller, or barnabas.client.consume.group.

Invariants: a position only moves when its records are handed out; a partition whose position is unknown or out of range
is reset by policy before it is fetched again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.consume.decoding import Aborted, decode_records
from barnabas.client.errors import raise_for
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import READ_COMMITTED, READ_UNCOMMITTED, reset_offset
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from barnabas.protocol.records.record import Record

FETCH_BYTES = 50 * 1024 * 1024
PARTITION_BYTES = 1024 * 1024
FETCH_WAIT_MS = 500


class ConsumedRecord(NamedTuple):
    """A record and where it was."""

    topic: str
    partition: int
    record: Record


class Consumer:
    """Reads partitions through a Client.

    isolation: READ_UNCOMMITTED or READ_COMMITTED. auto_offset_reset: earliest, latest or none (an error).
    partition_bytes: what one answer brings of one partition, at most, unless its first batch is larger.
    """

    def __init__(
        self,
        client: Client,
        *,
        isolation: int = READ_UNCOMMITTED,
        auto_offset_reset: str = "latest",
        partition_bytes: int = PARTITION_BYTES,
    ) -> None:
        self._client = client
        self._isolation = isolation
        self._reset = auto_offset_reset
        self._partition_bytes = partition_bytes
        self.positions: dict[TopicPartition, int | None] = {}
        """The next offset of every assigned partition; None until it was looked up."""
        self.high_watermarks: dict[TopicPartition, int] = {}
        """The end of what may be read of every partition, as of its last fetch."""

    def assign(self, positions: Mapping[TopicPartition, int | None] | Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, from these offsets; without an offset, from where the reset policy says."""
        known = dict(positions) if isinstance(positions, Mapping) else dict.fromkeys(positions)
        self.positions = known
        self.high_watermarks = {where: end for where, end in self.high_watermarks.items() if where in known}

    def poll(self, timeout_ms: int = FETCH_WAIT_MS, max_records: int | None = None) -> list[ConsumedRecord]:
        """Records as soon as there are any, or none after `timeout_ms`. Raises what does not pass by itself.

        max_records: hand out no more than so many; the others are fetched again by the next poll.
        """
        patience = self._client.deadline(timeout_ms)
        while True:
            deadline = self._client.deadline()
            wait_ms = min(FETCH_WAIT_MS, patience.left_ms)
            records = self._client.with_retries(partial(self._fetch, wait_ms, deadline), deadline, self._look_again)
            if records or patience.is_over:
                return records if max_records is None else self._cut(records, max_records)
            if not self.positions:
                self._client.clock.sleep(patience.left_s)

    def position(self, where: TopicPartition) -> int:
        """The next offset of an assigned partition, looked up if need be."""
        self._find_positions(self._client.deadline())
        found = self.positions[where]
        assert found is not None
        return found

    def is_at_end(self) -> bool:
        """Whether every partition was read up to where it ended when it was last fetched."""
        return all(
            position is not None and position >= self.high_watermarks.get(where, position + 1)
            for where, position in self.positions.items()
        )

    def _cut(self, records: list[ConsumedRecord], max_records: int) -> list[ConsumedRecord]:
        for topic, partition, record in reversed(records[max_records:]):
            self.positions[topic, partition] = record.offset
        return records[:max_records]

    def _look_again(self, error: KafkaError) -> None:
        self._client.forget({topic for topic, _ in self.positions})

    def _find_positions(self, deadline: Deadline) -> None:
        for where, position in list(self.positions.items()):
            if position is None:
                self.positions[where] = reset_offset(self._client, where, self._reset, self._isolation, deadline)

    def _fetch(self, wait_ms: int, deadline: Deadline) -> list[ConsumedRecord]:
        self._find_positions(deadline)
        by_leader: dict[int, list[TopicPartition]] = {}
        for where in self.positions:
            by_leader.setdefault(self._client.leader(*where, deadline), []).append(where)
        records: list[ConsumedRecord] = []
        for leader, places in by_leader.items():
            # Only the first leader is waited for, and only while nothing has come.
            request = self._request(places, 0 if records else wait_ms // len(by_leader))
            response: FetchResponse = self._client.node(leader, deadline).ask(request, deadline)
            raise_for(response.error_code, None, "fetch")
            failure = self._read(response, records)
            if failure is not None and not records:
                raise failure
        return records

    def _request(self, places: Iterable[TopicPartition], wait_ms: int) -> FetchRequest:
        topics: dict[str, list[FetchPartition]] = {}
        for topic, partition in places:
            position = self.positions[topic, partition]
            assert position is not None
            topics.setdefault(topic, []).append(
                FetchPartition(partition=partition, fetch_offset=position, partition_max_bytes=self._partition_bytes)
            )
        return FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            isolation_level=self._isolation,
            topics=[FetchTopic(topic=name, partitions=partitions) for name, partitions in topics.items()],
        )

    def _read(self, response: FetchResponse, records: list[ConsumedRecord]) -> KafkaError | None:
        """Append what came and move the positions; the first partition's error, which the others do not suffer for."""
        failure: KafkaError | None = None
        for topic in response.responses:
            for data in topic.partitions:
                where = topic.topic, data.partition_index
                if where not in self.positions:
                    continue
                try:
                    records += self._read_partition(where, data)
                except KafkaError as error:
                    failure = failure or error
        return failure

    def _read_partition(self, where: TopicPartition, data: PartitionData) -> list[ConsumedRecord]:
        name = f"{where[0]}-{where[1]}"
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and self._reset != "none":
            self.positions[where] = None
            return []
        raise_for(data.error_code, None, name)
        position = self.positions[where]
        assert position is not None
        aborted = None
        end = data.high_watermark
        if self._isolation == READ_COMMITTED:
            aborted = [Aborted(txn.producer_id, txn.first_offset) for txn in data.aborted_transactions or ()]
            end = data.last_stable_offset
        decoded = decode_records(data.records or b"", position, aborted, where=name)
        self.positions[where] = decoded.next_offset
        self.high_watermarks[where] = end
        return [ConsumedRecord(*where, record) for record in decoded.records]
