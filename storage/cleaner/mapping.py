# compiled: mypyc, as compaction runs it for each record
"""The first pass of a round: the keys of the part that was not cleaned before are put into the offset map.

Markers and aborted records are left out. A segment is read from its beginning, even if only its end is dirty: so no
ABORT marker is missed, and the index, which may be damaged, is not needed. The pass ends where the map is full. It
never reaches a segment with a transaction that is still open: a record of it must not remove an older one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Final

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.record_rows import ROWS_MAX, RecordTaker, Row, row_pieces
from barnabas.storage.cleaner.aborted import AbortedTransactions
from barnabas.storage.cleaner.dirty_records import SUPERSEDED, TOMBSTONE, UNKNOWN, DirtyRecords
from barnabas.storage.cleaner.offset_map import OffsetMap
from barnabas.storage.cleaner.reading import SegmentBatchReader, SegmentSpan
from barnabas.storage.cleaner.results import CleanTally
from barnabas.storage.cleaner.transactions import BatchKind, CleanedTransactions, kind_of
from barnabas.storage.disk.directory import Directory

STEP_BYTES: Final = 1 << 14  # of batches between two pauses
BATCH_COST_BYTES: Final = 128  # the cost of a batch besides its bytes


class MapBuilding:
    """Fills an offset map, and the states of the dirty records."""

    def __init__(
        self,
        directory: Directory,
        offset_map: OffsetMap,
        records: DirtyRecords,
        buffer_bytes: int,
        max_record_bytes: int,
        tally: CleanTally,
        taker: RecordTaker | None = None,
    ) -> None:
        self._directory = directory
        self._map = offset_map
        self._records = records
        self._first_dirty = records.first_dirty
        self._buffer_bytes = buffer_bytes
        self._max_record_bytes = max_record_bytes
        self._tally = tally
        self._taker = taker
        self._transactions = CleanedTransactions()

    def steps(self, spans: Sequence[SegmentSpan], aborted: AbortedTransactions) -> Generator[int, None, None]:
        """Read the cleanable segments, in order. CorruptFile if one is damaged."""
        for span in spans:
            if span.end_offset <= self._first_dirty:
                continue
            self._transactions.add_aborted(aborted.touching(span.base_offset, span.end_offset))
            is_full = yield from self._walk(span)
            if is_full:
                break
            self._records.latest_offset = span.end_offset - 1
        self._tally.map_fullness = self._map.fullness

    def _walk(self, span: SegmentSpan) -> Generator[int, None, bool]:
        reader = SegmentBatchReader(self._directory, span, self._buffer_bytes)
        reported = work = 0
        try:
            while (header := reader.next()) is not None:
                try:
                    is_full = yield from self._take(reader.batch, header)
                except DecodeError as damage:
                    raise reader.damage(reader.batch_position, str(damage)) from damage
                if is_full:
                    return True
                self._records.latest_offset = max(self._records.latest_offset, header.last_offset)
                self._tally.map_bytes_read += header.size_in_bytes
                work += header.size_in_bytes + BATCH_COST_BYTES
                if work >= STEP_BYTES:
                    yield reader.bytes_read - reported
                    reported, work = reader.bytes_read, 0
        finally:
            reader.close()
        yield reader.bytes_read - reported
        return False

    def _take(self, batch: bytes, header: BatchHeader) -> Generator[int, None, bool]:
        kind = kind_of(batch, header)
        is_skipped = self._transactions.can_discard(header, kind)
        if header.last_offset < self._first_dirty:
            return False
        if kind != BatchKind.DATA:
            self._tally.map_messages_read += 1
            return False
        if is_skipped:
            self._tally.map_messages_read += header.records_count
            return False
        has_states = self._records.begin_batch(header)
        taker = self._taker if header.base_offset >= self._first_dirty else None
        pauses = False
        for piece in row_pieces(batch, header, max_record_bytes=self._max_record_bytes, taker=taker):
            if pauses or piece is None:
                yield 0
            if piece is not None:
                pauses = True
                if self._map.is_crowded(ROWS_MAX):
                    yield from self._map.growing()
                if self._put(piece[1], has_states):
                    return True
        return False

    def _put(self, rows: list[Row], has_states: bool) -> bool:
        """Put keys into the map; return whether it was full before the end."""
        offset_map, records, first_dirty, count = self._map, self._records, self._first_dirty, 0
        for row in rows:
            offset, key = row[0], row[2]
            if key is None:
                if has_states:
                    records.note(offset, UNKNOWN)
            elif offset >= first_dirty:
                if offset_map.is_full:
                    self._tally.map_messages_read += count
                    return True
                previous = offset_map.put(key, offset)
                if previous >= 0:
                    records.note(previous, SUPERSEDED)
                if has_states and not row[3]:
                    records.note(offset, TOMBSTONE)
                records.latest_offset = offset
            count += 1
        self._tally.map_messages_read += count
        return False
