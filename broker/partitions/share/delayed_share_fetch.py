# compiled: mypyc
"""A ShareFetch that may wait: until records can be acquired from its partitions, or until its time is over (KIP-932).

The log is read when the fetch is answered, in pieces: the headers of the batches decide what is acquired, and so how
far. Partitions come in turns: each request begins with another. As in Apache Kafka the bytes are shared equally among
the partitions that have something to acquire.

Invariants: one response reads at most `_BATCHES_MAX` headers and `_BYTES_MAX` bytes of records, but one whole batch
always; a partition that cannot be served has its error, and is answered with the others. One that could not be loaded
is answered after the wait, so that no client repeats its request at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from barnabas.broker.partitions.share.acquisition import Acquired, AcquireRequest, LogRange
from barnabas.broker.partitions.share.share_sessions import SessionPartition
from barnabas.protocol.errors import DecodeError, ErrorCode, KafkaError
from barnabas.protocol.primitives import Buffer
from barnabas.protocol.records.batch import HEADER_SIZE, BatchHeader, parse_header
from barnabas.protocol.records.control import read_marker
from barnabas.storage.errors import CorruptFile, StorageError

if TYPE_CHECKING:
    from barnabas.broker.partitions.purgatory import DelayedOperation, PartitionKey, Purgatory
    from barnabas.broker.partitions.share.led_share_partition import LedSharePartition
    from barnabas.broker.partitions.share.share_partition_manager import SharePartitionManager
    from barnabas.storage.disk.disk_file import FileSlice

R = TypeVar("R")

_BATCHES_MAX = 2_000
_BYTES_MAX = 4 << 20
_PIECE_BYTES = 64 << 10
_CONTROL_BATCH_BYTES_MAX = 64 << 10  # a marker takes 78


class ShareFetchLimits(NamedTuple):
    """How much a ShareFetch requests, and how long it waits."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int


class ShareFetched(NamedTuple):
    """The result for one partition."""

    partition: SessionPartition
    error: KafkaError | None = None
    records: Buffer = b""
    acquired: Sequence[Acquired] = ()


class _Read(NamedTuple):
    """Batches of the log, and where they are in the data that was read."""

    ranges: list[LogRange]
    positions: list[int]
    """The position of each batch, and the one behind the last."""


class DelayedShareFetch:
    """One ShareFetch until it is answered."""

    def __init__(
        self,
        manager: SharePartitionManager,
        waiters: Purgatory,
        group_id: str,
        request: AcquireRequest,
        limits: ShareFetchLimits,
        wanted: Sequence[SessionPartition],
    ) -> None:
        self._manager = manager
        self._waiters = waiters
        self._group_id = group_id
        self._settings = manager.settings_of(group_id)
        self._request = request
        self._limits = limits
        self._wanted = wanted
        self._waits_for: dict[PartitionKey, SessionPartition] = {}
        self._bytes: dict[PartitionKey, int] = {}
        self._bytes_sum = 0
        self._batches_left = _BATCHES_MAX
        self._failed: dict[SessionPartition, KafkaError] = {}
        self._loaded: dict[SessionPartition, LedSharePartition] = {}

    def answer(self, respond: Callable[[list[ShareFetched]], R]) -> R | DelayedOperation[R]:
        """Apply `respond` to the records that are acquired: now, or as soon as there are some."""
        if not self._wanted or self._request.records_max == 0 or self._limits.max_bytes == 0:
            return respond([])
        for each in self._wanted:
            try:
                self._loaded[each] = self._manager.get(self._group_id, each)
                self._waits_for[self._manager.topic_of(*each), each.partition] = each
            except KafkaError as error:
                self._failed[each] = error.as_value()
        if self._limits.max_wait_ms <= 0 or not self._waits_for or self._is_enough():
            return respond(self._acquired())
        return self._waiters.park(
            self._waits_for,
            timeout_ms=self._limits.max_wait_ms,
            is_ready=self._is_ready,
            finish=lambda _: respond(self._acquired()),
        )

    def _is_enough(self) -> bool:
        for each in self._waits_for:
            self._look_at(each)
            if self._has_min_bytes:
                return True
        return False

    def _is_ready(self, woken: PartitionKey) -> bool:
        """Return whether min_bytes are there after a change of one partition; raises the errors of a read."""
        self._look_at(woken)
        return self._has_min_bytes

    @property
    def _has_min_bytes(self) -> bool:
        return bool(self._bytes) and self._bytes_sum >= min(self._limits.min_bytes, self._limits.max_bytes)

    def _look_at(self, key: PartitionKey) -> None:
        """Note how many bytes a partition has; none while nothing may be acquired from it."""
        wanted = self._waits_for[key]
        led, log = self._loaded[wanted], self._manager.log_of(wanted)
        if led.leader_epoch != log.leader_epoch:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._bytes_sum -= self._bytes.pop(key, 0)
        state = led.state
        if state is not None and state.can_acquire(self._settings):
            state.follow_log_start(log.log_start_offset)
            size = log.readable_bytes(state.next_fetch_offset, self._settings.is_read_committed)
            self._bytes[key] = size
            self._bytes_sum += size

    def _acquired(self) -> list[ShareFetched]:
        """Acquire what there is now."""
        ready: list[SessionPartition] = []
        for each, led in self._loaded.items():
            if led.refusal is not None:
                self._failed[each] = led.refusal
            elif led.state is not None and led.state.can_acquire(self._settings):
                ready.append(each)
        results = [ShareFetched(each, error) for each, error in self._failed.items()]
        records_left, size = self._request.records_max, 0
        share = min(self._limits.max_bytes, _BYTES_MAX) // max(1, len(ready))
        for each in ready:
            if records_left <= 0:
                results.append(ShareFetched(each))
                continue
            try:
                found = self._fetch(each, records_left, share, is_first=size == 0)
            except KafkaError as error:
                found = ShareFetched(each, error.as_value())
            except StorageError as error:
                found = ShareFetched(each, KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)))
            results.append(found)
            size += len(found.records)
            records_left -= sum(last - first + 1 for first, last, _ in found.acquired)
        return results

    def _fetch(self, wanted: SessionPartition, records_left: int, max_bytes: int, *, is_first: bool) -> ShareFetched:
        led, log = self._loaded[wanted], self._manager.log_of(wanted)
        if led.leader_epoch != log.leader_epoch or led.state is None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        led.state.follow_log_start(log.log_start_offset)
        offset = led.state.next_fetch_offset
        if not log.log_start_offset <= offset <= log.log_end_offset:
            return ShareFetched(wanted)
        found = log.read(offset, max_bytes, committed=self._settings.is_read_committed, force_first_batch=is_first)
        if found.data is None:
            return ShareFetched(wanted)
        enough = min(records_left, self._settings.partition_max_record_locks)
        data = _SliceReader(found.data)
        read = self._batches(data, found.aborted or (), offset, max(offset, led.state.end_offset) + enough)
        acquired = led.acquire(self._request._replace(records_max=records_left), offset, read.ranges)
        if not acquired:
            return ShareFetched(wanted)
        begin, end = _bounds(read, acquired[0].first, acquired[-1].last)
        return ShareFetched(wanted, None, data.part(begin, end), acquired)

    def _batches(self, data: _SliceReader, aborted: Sequence[tuple[int, int]], offset: int, enough: int) -> _Read:
        """Return the whole batches of the data, up to the first one behind the offset `enough`. CorruptFile."""
        transactions = _AbortedTransactions(aborted)
        ranges: list[LogRange] = []
        positions = [0]
        while self._batches_left > 0:
            header = data.header_at(positions[-1])
            if header is None or (ranges and header.base_offset > enough):
                break
            if header.last_offset < offset:
                positions[-1] += header.size_in_bytes
                continue
            self._batches_left -= 1
            is_aborted = transactions.hide(header.producer_id, header.last_offset)
            if header.is_control and data.is_marker_at(positions[-1], header):
                transactions.end(header.producer_id)
            is_data = header.is_transactional and not header.is_control
            ranges.append(LogRange(header.base_offset, header.last_offset, is_aborted and is_data))
            positions.append(positions[-1] + header.size_in_bytes)
        return _Read(ranges, positions)


class _SliceReader:
    """The bytes of a slice of a log, read in pieces as far as they are needed: batches are small or large."""

    def __init__(self, data: FileSlice) -> None:
        self._slice = data
        self._bytes = bytearray()

    def header_at(self, position: int) -> BatchHeader | None:
        """Return the header of the batch that begins there, None if the slice does not have all of it. CorruptFile."""
        if not self._has(position + HEADER_SIZE):
            return None
        try:
            header = parse_header(self._bytes, position)
        except DecodeError as damage:
            raise CorruptFile(self._slice.file.path, str(damage)) from damage
        return header if position + header.size_in_bytes <= self._slice.size else None

    def is_marker_at(self, position: int, header: BatchHeader) -> bool:
        """Return whether the control batch there ends a transaction. CorruptFile."""
        end = position + header.size_in_bytes
        if header.size_in_bytes > _CONTROL_BATCH_BYTES_MAX or not self._has(end):
            return False
        try:
            return read_marker(bytes(self._bytes[position:end])) is not None
        except DecodeError as damage:
            raise CorruptFile(self._slice.file.path, str(damage)) from damage

    def part(self, begin: int, end: int) -> memoryview:
        """Return the bytes between two positions, fewer if the file has become shorter. Nothing is read after it."""
        self._has(end)
        return memoryview(self._bytes)[begin:end]

    def _has(self, end: int) -> bool:
        """Read up to this position; return whether that is there."""
        while len(self._bytes) < end:
            piece = self._slice.read(len(self._bytes), max(_PIECE_BYTES, end - len(self._bytes)))
            if not piece:
                return False
            self._bytes += piece
        return True


class _AbortedTransactions:
    """The aborted transactions over some batches, which are given in order."""

    def __init__(self, aborted: Sequence[tuple[int, int]]) -> None:
        self._coming = sorted(((first, producer_id) for producer_id, first in aborted), reverse=True)
        self._open: set[int] = set()

    def hide(self, producer_id: int, last_offset: int) -> bool:
        """Return whether a batch of the producer is one of an aborted transaction, if it is transactional."""
        while self._coming and self._coming[-1][0] <= last_offset:
            self._open.add(self._coming.pop()[1])
        return producer_id in self._open

    def end(self, producer_id: int) -> None:
        """Note the end of the producer's transaction."""
        self._open.discard(producer_id)


def _bounds(read: _Read, first: int, last: int) -> tuple[int, int]:
    """Return the positions of the batches from the one with `first` to the one with `last`."""
    begin, end = read.positions[0], read.positions[1]
    for index, each in enumerate(read.ranges):
        if each.first <= first:
            begin = read.positions[index]
        if each.first <= last:
            end = read.positions[index + 1]
    return begin, end
