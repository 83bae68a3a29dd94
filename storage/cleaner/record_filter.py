# compiled: mypyc, as compaction runs it for each record
"""Which records of a batch are retained, as in Kafka's `shouldRetainRecord`, and the batch that results.

Knows the offset map and the rules; reads no file. Retained records are held in memory while a batch is read, up to
HELD_BYTES; if a batch retains more (a small zstd batch can hold gigabytes) its records are read a second time. If
they cannot be compressed to REWRITTEN_BYTES_MAX by this code, the batch stays unchanged.

A batch of the dirty part is read only if it changes: not if the first pass found all its records superseded, or all of
them the latest of their keys and none a tombstone. Of others the superseded records are passed over by their lengths.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.record_rows import Row, row_pieces
from barnabas.protocol.records.rewriting import NO_HORIZON, Rewriting, delete_horizon_of, empty_batch
from barnabas.storage.cleaner.batch_retention import (
    BatchOutcome,
    BatchRetention,
    keeps_tombstones,
    outcome,
    sets_horizon,
)
from barnabas.storage.cleaner.dirty_records import LATEST, SUPERSEDED, UNKNOWN, DirtyRecords
from barnabas.storage.cleaner.offset_map import OffsetMap
from barnabas.storage.cleaner.results import CleanTally

HELD_BYTES: Final = 1 << 22
REWRITTEN_BYTES_MAX: Final = 1 << 27
_HELD_RECORD_BYTES: Final = 128  # what a held record takes beside its bytes

Filtered = tuple[BatchHeader, bytes | bytearray, int]
"""(header, batch, largest timestamp of its records in ms)."""


class RecordFilter:
    """Filters the records of batches by the map of one round, and by the findings of its first pass."""

    def __init__(
        self,
        offset_map: OffsetMap,
        records: DirtyRecords,
        now_ms: int,
        delete_retention_ms: int,
        max_record_bytes: int,
        tally: CleanTally,
        rewritten_bytes_max: int = REWRITTEN_BYTES_MAX,
    ) -> None:
        self._map = offset_map
        self._records = records
        self._now_ms = now_ms
        self._horizon_ms = now_ms + delete_retention_ms
        self._max_record_bytes = max_record_bytes
        self._tally = tally
        self._rewritten_bytes_max = rewritten_bytes_max
        self._invalid = 0
        self._has_tombstone = False
        self._max_timestamp = NO_HORIZON

    def steps(
        self, batch: bytes, header: BatchHeader, kind: BatchRetention, discards: bool, is_useless_marker: bool
    ) -> Generator[int, None, Filtered | None]:
        """Return the filtered batch, None if nothing is left. Pauses between pieces of it. DecodeError on damage."""
        if kind == BatchRetention.DELETE:
            return None
        tally = self._tally
        tally.messages_read += header.records_count
        held: list[tuple[int, int, bytes]] = []
        retained = held_bytes = 0
        self._has_tombstone, self._max_timestamp = False, -1
        states = self._records.states(header)
        if discards or (states and states.count(SUPERSEDED) == len(states)):
            pass
        elif states and states.count(LATEST) == len(states) and not header.lacks_max_timestamp:
            retained = len(states)
        else:
            pauses = False
            for piece in row_pieces(batch, header, max_record_bytes=self._max_record_bytes, marks=states):
                if pauses or piece is None:
                    yield 0
                if piece is None:
                    continue
                pauses = True
                buffer, rows = piece
                for offset, timestamp, _, _, tail, end in self._retained(rows, header, states):
                    retained += 1
                    if held_bytes <= HELD_BYTES:
                        held.append((offset, timestamp, buffer[tail:end]))
                        held_bytes += end - tail + _HELD_RECORD_BYTES
            tally.invalid_messages += self._invalid
            self._invalid = 0
        tally.messages_written += retained
        gets_horizon = sets_horizon(header, self._has_tombstone, is_useless_marker)
        result = outcome(retained, header.records_count, gets_horizon, kind)
        if result == BatchOutcome.DROPPED:
            return None
        if result == BatchOutcome.EMPTIED:
            return header, empty_batch(header), header.max_timestamp
        if result == BatchOutcome.VERBATIM:
            return header, batch, self._max_timestamp if header.lacks_max_timestamp else header.max_timestamp
        rewriting = Rewriting(header, self._horizon_ms if gets_horizon else delete_horizon_of(header))
        if held_bytes <= HELD_BYTES:
            for offset, timestamp, record in held:
                rewriting.add(offset, timestamp, record)
        else:
            held.clear()
            is_whole = yield from self._rewrite(batch, header, states, rewriting)
            if not is_whole:
                return header, batch, header.max_timestamp
        rewritten, data = rewriting.seal()
        return rewritten, data, rewritten.max_timestamp

    def _rewrite(
        self, batch: bytes, header: BatchHeader, states: bytes, rewriting: Rewriting
    ) -> Generator[int, None, bool]:
        """Add the retained records; return whether all of them were added and their size is within the limit."""
        for piece in row_pieces(batch, header, max_record_bytes=self._max_record_bytes, marks=states):
            yield 0
            if piece is None:
                continue
            buffer, rows = piece
            for offset, timestamp, _, _, tail, end in self._retained(rows, header, states):
                rewriting.add(offset, timestamp, buffer[tail:end])
            if rewriting.size > self._rewritten_bytes_max:
                break
        self._invalid = 0  # counted the first time
        return rewriting.size <= self._rewritten_bytes_max

    def _retained(self, rows: list[Row], header: BatchHeader, states: bytes) -> list[Row]:
        """Return the retained rows; note the largest timestamp, tombstones and invalid records.

        With states, no row is of a superseded record, unless its state is unknown.
        """
        if not header.is_control:
            keeps_deleted, latest, offset_map = (
                keeps_tombstones(header, self._now_ms),
                self._records.latest_offset,
                self._map,
            )
            looks_up = not states or UNKNOWN in states
            retained: list[Row] = []
            for row in rows:
                if row[0] <= latest:
                    key = row[2]
                    if key is None:
                        self._invalid += 1
                        continue
                    if not (row[3] or keeps_deleted) or (looks_up and row[0] < offset_map.get(key)):
                        continue
                retained.append(row)
            rows = retained
        for row in rows:
            if not row[3]:
                self._has_tombstone = True
            if row[1] > self._max_timestamp:
                self._max_timestamp = row[1]
        return rows
