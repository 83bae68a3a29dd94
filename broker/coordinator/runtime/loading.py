"""Reading a coordinator's partition back, a slice at a time, so that a long log never holds up the event loop.

Knows batches and markers; what a record means is the machine's affair. Loading reads from the log's start to the end
it had when loading began: nobody else appends to this partition before it is loaded. The log may be compacted: offsets
are missing, a batch may have no records, a marker no data before it.

Where every record says all there is about its key, most of a long log is what later records replace: then the last of
each key is looked for first, and only those are decoded and replayed, in the order they have in the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Generic, Protocol, TypeVar

from barnabas.broker.coordinator.runtime.latest import Latest, keep_latest
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import BatchHeader, iter_batches, verify_crc
from barnabas.protocol.records.control import read_marker
from barnabas.protocol.records.record import iter_records

R = TypeVar("R")

SLICE_BYTES = 64 * 1024
"""How much is read and replayed at once: a few milliseconds' work."""
SLICE_RECORDS = 256
"""How many are replayed at once where only the last of each key are."""


class Source(Protocol):
    """One coordinator topic as the loader needs it."""

    def extent(self, partition: int) -> tuple[int, int]:
        """The log's start offset and its end offset."""

    def read(self, partition: int, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset` on, or the first behind it, at least one if there is any."""


class Replayed(Protocol[R]):
    """What the loader asks of the machine."""

    records_are_whole: bool
    """Whether a record replaces all earlier ones of its key, and none is ever part of a transaction."""

    def decode(self, key: bytes | None, value: bytes | None) -> R | None:
        """The record, or None for one to pass over; raises DecodeError."""

    def replay(self, record: R, record_offset: int, producer_id: int = -1) -> None:
        """Change the durable state."""

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """End a transaction."""


class Loader(Generic[R]):
    """The loading of one partition, as far as it has come."""

    def __init__(self, source: Source, partition: int, machine: Replayed[R]) -> None:
        self._source = source
        self._partition = partition
        self._machine = machine
        self._extent: tuple[int, int] | None = None  # not asked for yet
        self._offset = self._end = 0
        self._latest: Latest = {}
        self._left: Iterator[tuple[bytes | None, tuple[int, bytes | None]]] | None = None
        self.records_count = 0
        """How many records were read so far."""

    def step(self) -> bool:
        """Do one slice; True once all is done.

        Raises DecodeError when the log cannot be understood, and KafkaError when it is not to be had (yet).
        """
        if self._extent is None:
            self._extent = self._offset, self._end = self._source.extent(self._partition)
        if self._offset < self._end:
            data = self._source.read(self._partition, self._offset, SLICE_BYTES)
            start = self._offset
            if not data:
                self._offset = self._end  # a cleaner has left nothing up to where the newest, empty segment begins
            elif self._machine.records_are_whole:
                self._offset, count = keep_latest(data, start, self._latest)
                self.records_count += count
            else:
                self._replay_all(memoryview(data))
            if not data:
                self._offset = self._end  # compaction took what was last
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
        """Some of what is left when all was read; True once that is done."""
        if self._left is None:
            self._left = iter(self._latest.items())
        count = 0
        for key, (offset, value) in islice(self._left, SLICE_RECORDS):
            record = self._machine.decode(key, value)
            if record is not None:
                self._machine.replay(record, offset)
            count += 1
        return count < SLICE_RECORDS
