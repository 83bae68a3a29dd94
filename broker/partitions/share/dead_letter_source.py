"""The records that dead letters copy, taken from the batches of their source in one pass.

Knows what a batch has, not where it is read. Offsets are requested in order, with pauses in between, in which the log
may change: a record that cannot be read any more is missing, as one that was compacted. Of each batch the records are
walked once, however many dead letters it has. The marker of a transaction is copied like a record, as in Apache Kafka:
a range that no member acknowledged may have one.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import parse_header
from barnabas.protocol.records.record import BatchRecord, iter_records_with_pauses
from barnabas.storage.steps import AT_ONCE, Steps


class DeadLetterRecords:
    """The records of one log from some offset on."""

    def __init__(self, max_bytes: int) -> None:
        """Create it. Batches that have more than `max_bytes` uncompressed count as missing, as in Kafka."""
        self._max_bytes = max_bytes
        self._records: Iterator[BatchRecord | None] = iter(())
        self._next: BatchRecord | None = None
        """The record after those that were requested, once it is known."""
        self._end = 0
        """The offset after the batch."""
        self._is_over = False

    def begin_letter(self) -> None:
        """Read again. Records after one that cannot be read are missing in the same dead letter only, as in Kafka."""
        self._is_over = False

    def needs_batch(self, offset: int) -> bool:
        """Return whether `take_batch` is to be called before `at` for this offset."""
        return offset >= self._end and not self._is_over

    def take_batch(self, batch: bytes) -> None:
        """Go on with the batch that has the next offset or follows it; nothing if there is none to read."""
        self._records, self._next = iter(()), None
        self._is_over = not batch
        if batch:
            self._end = parse_header(batch).next_offset
            self._records = iter_records_with_pauses(batch, max_bytes=self._max_bytes)

    def at(self, offset: int) -> Steps[BatchRecord | None]:
        """Return the record with this offset, None if it is missing. No offset before it is requested any more."""
        skipped = 0
        while self._next is None or self._next.offset < offset:
            try:
                self._next = next(self._records)
            except StopIteration:
                return None
            except DecodeError:
                self._records = iter(())
                return None
            skipped += 1
            if self._next is None or not skipped % AT_ONCE:
                yield None
        return self._next if self._next.offset == offset else None
