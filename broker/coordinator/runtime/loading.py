"""Reading a coordinator's partition back, a slice at a time, so that a long log never blocks the event loop.

Knows batches and markers; the machine knows the meaning of records. Loading reads from the log's start to its end
offset when loading began: nothing is appended to this partition before it is loaded. The log may be compacted:
offsets are missing, a batch may have no records, a marker no data before it.

If every record contains the whole state of its key, later records replace most of a long log: then the last record of
each key is searched first, and only these are decoded and replayed, in the order of the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Generic, Protocol, TypeVar

from barnabas.broker.coordinator.runtime.latest_records import Latest, keep_latest
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import BatchHeader, iter_batches, verify_crc
from barnabas.protocol.records.control import read_marker
from barnabas.protocol.records.record import iter_records

R = TypeVar("R")

SLICE_BYTES = 64 * 1024
"""How much is read and replayed at once: a few milliseconds of work."""
SLICE_RECORDS = 256
"""How many records are replayed at once if only the last of each key are."""


class LoaderSource(Protocol):
    """One coordinator topic as the loader uses it."""

    def extent(self, partition: int) -> tuple[int, int]:
        """Return the log's start offset and its end offset."""

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        """Return whole batches from `offset` (or the first one after it) on, at least one if there is any."""


class Replayed(Protocol[R]):
    """The part of the machine that the loader uses."""

    records_are_whole: bool
    """Whether a record replaces all earlier ones of its key, and none is ever part of a transaction."""

    def decode(self, key: bytes | None, value: bytes | None) -> R | None:
        """Return the record, or None for one to skip; raises DecodeError."""

    def replay(self, record: R, record_offset: int, producer_id: int = -1) -> None:
        """Change the durable state."""

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """End a transaction."""


class Loader(Generic[R]):
    """The load of one partition, with its progress."""

    def __init__(self, source: LoaderSource, partition: int, machine: Replayed[R]) -> None:
        self._source = source
        self._partition = partition
        self._machine = machine
        self._extent: tuple[int, int] | None = None  # not read yet
        self._offset = self._end = 0
        self._latest: Latest = {}
        self._left: Iterator[tuple[bytes | None, tuple[int, bytes | None]]] | None = None
        self.records_count = 0
        """How many records were read so far."""

    def step(self) -> bool:
        """Do one slice; return True once all is done.

        Raises DecodeError if the log cannot be decoded, and KafkaError if it is not available (yet).
        """
        if self._extent is None:
            self._extent = self._offset, self._end = self._source.extent(self._partition)
        if self._offset < self._end:
            data = self._source.read(self._partition, self._offset, SLICE_BYTES)
            start = self._offset
            if not data:
                self._offset = self._end  # a cleaner has left nothing before the newest, empty segment
            elif self._machine.records_are_whole:
                self._offset, count = keep_latest(data, start, self._latest)
                self.records_count += count
            else:
                self._replay_all(memoryview(data))
            if not data:
                self._offset = self._end  # compaction removed the last records
            elif self._offset == start:
                raise DecodeError(f"no batch at offset {start}, below the log's end {self._end}")
        return self._offset >= self._end and self._replay_latest()

    def _replay_all(self, data: memoryview) -> None:
        for position, header in iter_batches(data):
            if header.last_offset >= self._offset:
                batch = data[position : position + header.size_in_bytes]
                if not verify_crc(batch):
                    raise DecodeError(f"the crc of the batch at offset {header.base_offset} is not {header.crc:#010x}")
                self._replay_batch(header, batch)
                self._offset = header.next_offset

    def _replay_batch(self, header: BatchHeader, batch: memoryview) -> None:
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None:
                self._machine.replay_marker(marker.producer_id, is_commit=marker.commit)
            return
        producer_id = header.producer_id if header.is_transactional else -1
        decode, replay, begun_at = self._machine.decode, self._machine.replay, self._offset
        for offset, _, key, value, _ in iter_records(batch):
            if offset < begun_at:
                continue
            record = decode(key, value)
            if record is not None:
                replay(record, offset, producer_id)
            self.records_count += 1

    def _replay_latest(self) -> bool:
        """Replay some of the last records after all was read; return True once that is done."""
        if self._left is None:
            self._left = iter(self._latest.items())
        count = 0
        for key, (offset, value) in islice(self._left, SLICE_RECORDS):
            record = self._machine.decode(key, value)
            if record is not None:
                self._machine.replay(record, offset)
            count += 1
        return count < SLICE_RECORDS
