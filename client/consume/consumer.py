"""A consumer of assigned partitions: positions, fetches, records.

Theory of operation: each poll sends one Fetch per leader for all assigned partitions and decodes the responses into
records; positions move past everything read, control batches and aborted transactions included. A failure concerns one
partition: the others are read, its leader is looked up again and requested after the others, and if records come
nevertheless, a lasting failure is raised by the next poll. Of the leaders that do not respond, a round waits for one
as long as the client's timeout, for a different one each time, and for the others only briefly. The partitions are
assigned elsewhere: by the caller, or by barnabas.client.consume.group_consumer.

Invariants: a position only moves when its records are returned, so a round that raises moves none past a record; a
partition whose position is unknown or out of range is reset by policy before it is fetched again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import NamedTuple

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.consume.decoding import Aborted, decode_records
from barnabas.client.errors import raise_for, worst
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import READ_COMMITTED, READ_UNCOMMITTED, ask_offsets, list_offsets, reset_timestamp
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from barnabas.protocol.records.record import BatchRecord

FETCH_BYTES = 50 * 1024 * 1024
PARTITION_BYTES = 1024 * 1024
FETCH_WAIT_MS = 500
FAILED_LEADER_MS = 1000


class ConsumedRecord(NamedTuple):
    """A record with its topic and partition."""

    topic: str
    partition: int
    record: BatchRecord


class _Round:
    """The responses of the leaders in one round, before they take effect; and the failed partitions."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        """The most records to decode, if there is a limit: behind them, partitions stay where they are."""
        self.records: list[ConsumedRecord] = []
        self.positions: dict[TopicPartition, int | None] = {}
        self.high_watermarks: dict[TopicPartition, int] = {}
        self.failures: dict[TopicPartition, KafkaError] = {}
        self.was_patient = False
        """Whether a leader did not respond within the client's timeout."""


class Consumer:
    """Reads partitions through a Client.

    isolation: READ_UNCOMMITTED or READ_COMMITTED. auto_offset_reset: earliest, latest or none (an error).
    partition_bytes: the limit for one partition in one response, unless its first batch is larger.
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
        """The next offset of every assigned partition; None until it was requested."""
        self.high_watermarks: dict[TopicPartition, int] = {}
        """The readable end of every partition, as of its last fetch."""
        self._failing: dict[TopicPartition, Deadline] = {}  # partitions that failed in the last round
        self._silent: list[int] = []  # nodes that did not respond, the longest ago first
        self._failure: KafkaError | None = None  # for the next poll to raise

    def assign(self, positions: Mapping[TopicPartition, int | None] | Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, from these offsets; without an offset, from that of the reset policy."""
        known = dict(positions) if isinstance(positions, Mapping) else dict.fromkeys(positions)
        self.positions = known
        self.high_watermarks = {where: end for where, end in self.high_watermarks.items() if where in known}
        self._failing, self._failure, self._silent = {}, None, []

    def poll(
        self, timeout_ms: int = FETCH_WAIT_MS, max_records: int | None = None, *, retry_ms: float | None = None
    ) -> list[ConsumedRecord]:
        """Return records as soon as there are any, or none after `timeout_ms`. Raises lasting errors.

        max_records: return no more than so many; the others are fetched again by the next poll.
        retry_ms: how long to retry if there are only failures; by default the client's timeout.
        """
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        patience = self._client.deadline(timeout_ms)
        while True:
            deadline = self._client.deadline()
            wait_ms = min(FETCH_WAIT_MS, patience.left_ms)
            retries = deadline if retry_ms is None else self._client.deadline(retry_ms)
            # One more than wanted: so it is known whether a partition was read up to its end.
            limit = None if max_records is None else max_records + 1
            records = self._client.with_retries(partial(self._fetch, wait_ms, deadline, limit), retries)
            if records or patience.is_over:
                return records if max_records is None else self._cut(records, max_records)
            if not self.positions:
                self._client.clock.sleep(patience.left_s)

    def position(self, where: TopicPartition) -> int:
        """Return the next offset of an assigned partition, requested if unknown."""
        found = self.positions[where]
        if found is None:
            wanted = {where: reset_timestamp(where, self._reset)}
            found = list_offsets(self._client, wanted, isolation=self._isolation)[where].offset
            self.positions[where] = found
        return found

    def is_at_end(self) -> bool:
        """Return whether every partition was read up to its end as of its last fetch."""
        return all(
            position is not None and position >= self.high_watermarks.get(where, position + 1)
            for where, position in self.positions.items()
        )

    def _cut(self, records: list[ConsumedRecord], max_records: int) -> list[ConsumedRecord]:
        for topic, partition, record in reversed(records[max_records:]):
            self.positions[topic, partition] = record.offset
        return records[:max_records]

    def _fetch(self, wait_ms: int, deadline: Deadline, limit: int | None) -> list[ConsumedRecord]:
        """Run one round: return the records, or raise a failure if there are none."""
        came = _Round(limit)
        self._find_positions(came, deadline)
        known = [where for where, position in self.positions.items() if position is not None]
        leaders = self._leaders(known, came, deadline)
        for leader, places in leaders:
            # Only the first leader may wait for records, and only while there are none.
            request = self._request(places, 0 if came.records else wait_ms // len(leaders))
            patience = self._patience(places, came)
            try:
                response: FetchResponse = self._client.node(leader, patience).ask(request, patience)
                raise_for(response.error_code, None, "fetch")
            except KafkaError as error:
                came.failures.update(dict.fromkeys(places, error))
            else:
                self._read(response, came)
            self._note_silence(leader, patience, came)
        return self._take_in(came)

    def _find_positions(self, came: _Round, deadline: Deadline) -> None:
        """Request the unknown positions, as far as that is possible now."""
        wanted: dict[TopicPartition, int] = {}
        for where, position in self.positions.items():
            try:
                if position is None:
                    wanted[where] = reset_timestamp(where, self._reset)
            except KafkaError as error:
                came.failures[where] = error
        for leader, places in self._leaders(wanted, came, deadline):
            requested = {where: wanted[where] for where in places}
            patience = self._patience(places, came)
            found, failures = ask_offsets(self._client, requested, self._isolation, patience)
            self.positions.update({where: each.offset for where, each in found.items()})
            came.failures.update(failures)
            self._note_silence(leader, patience, came)

    def _leaders(
        self, places: Iterable[TopicPartition], came: _Round, deadline: Deadline
    ) -> list[tuple[int, list[TopicPartition]]]:
        """Return the leaders and their partitions: last those with nothing but failures in the previous round."""
        by_leader, failures = self._client.leaders(places, deadline)
        came.failures.update(failures)
        return sorted(by_leader.items(), key=lambda each: (self._failed(each[1]), self._turn(each[0])))

    def _turn(self, leader: int) -> int:
        """Return the turn of a silent leader: those not waited for yet first, then the longest ago."""
        return self._silent.index(leader) if leader in self._silent else -1

    def _failed(self, places: Iterable[TopicPartition]) -> bool:
        return all(where in self._failing for where in places)

    def _patience(self, places: Iterable[TopicPartition], came: _Round) -> Deadline:
        """Return the deadline for one leader. It is its own: a silent leader takes no time from the others.

        While others are read, it is short for one that has just failed: they must not wait for it repeatedly. It is
        also short after another leader was silent in this round: the waits must not add up.
        """
        is_short = came.was_patient or (self._failed(places) and not self._failed(self.positions))
        return self._client.deadline(min(self._client.timeout_ms, FAILED_LEADER_MS) if is_short else None)

    def _note_silence(self, leader: int, patience: Deadline, came: _Round) -> None:
        """Note a leader that used its whole timeout, so that the next round waits for another one."""
        if came.was_patient and patience.is_over:
            return  # its deadline was short
        if leader in self._silent:
            self._silent.remove(leader)
        if patience.is_over:
            self._silent.append(leader)
            came.was_patient = True

    def _take_in(self, came: _Round) -> list[ConsumedRecord]:
        """Apply the round. Records are returned before failures, of which a lasting one is kept for the next poll."""
        self.positions.update(came.positions)
        self.high_watermarks.update(came.high_watermarks)
        self._client.forget({topic for (topic, _), error in came.failures.items() if error.code.retriable})
        lasting = self._lasting(came.failures)
        if came.records:
            self._failure = lasting
        elif came.failures:
            raise worst(came.failures.values())
        return came.records

    def _lasting(self, failures: Mapping[TopicPartition, KafkaError]) -> KafkaError | None:
        """Return a failure that lasts: by its code, or because it has lasted for the client's timeout."""
        self._failing = {where: self._failing.get(where) or self._client.deadline() for where in failures}
        lasting = {
            where: error
            for where, error in failures.items()
            if not error.code.retriable or self._failing[where].is_over
        }
        for where in lasting:
            self._failing[where] = self._client.deadline()  # a further failure is reported after the same time
        return worst(lasting.values()) if lasting else None

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

    def _read(self, response: FetchResponse, came: _Round) -> None:
        """Add the data of a response. An error of one partition does not affect the others."""
        for topic in response.responses:
            for data in topic.partitions:
                where = topic.topic, data.partition_index
                if where not in self.positions:
                    continue
                try:
                    self._read_partition(where, data, came)
                except KafkaError as error:
                    came.failures[where] = error

    def _read_partition(self, where: TopicPartition, data: PartitionData, came: _Round) -> None:
        name = f"{where[0]}-{where[1]}"
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and self._reset != "none":
            came.positions[where] = None
            return
        raise_for(data.error_code, None, name)
        position = self.positions[where]
        assert position is not None
        aborted = None
        end = data.high_watermark
        if self._isolation == READ_COMMITTED:
            aborted = [Aborted(txn.producer_id, txn.first_offset) for txn in data.aborted_transactions or ()]
            end = data.last_stable_offset
        came.high_watermarks[where] = end
        left = None if came.limit is None else came.limit - len(came.records)
        if left == 0:
            return
        decoded = decode_records(data.records or b"", position, aborted, limit=left, where=name)
        came.positions[where] = decoded.next_offset
        came.records += [ConsumedRecord(*where, record) for record in decoded.records]
