# compiled: mypyc, as compaction runs it for each record
"""The second pass of a round: the batches of a group of segments are filtered into one new segment."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple

from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import BatchHeader
from barnabas.storage.cleaner.aborted import AbortedTransactions
from barnabas.storage.cleaner.batch_retention import LastRecord, discards_records, retention, tells_producers_end
from barnabas.storage.cleaner.mapping import BATCH_COST_BYTES, STEP_BYTES
from barnabas.storage.cleaner.reading import SegmentBatchReader, SegmentSpan
from barnabas.storage.cleaner.record_filter import Filtered, RecordFilter
from barnabas.storage.cleaner.results import CleanTally
from barnabas.storage.cleaner.transactions import CleanedTransactions, kind_of
from barnabas.storage.cleaner.writing import CleanedSegment
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.directory import Directory


class Rules(NamedTuple):
    """The parameters of a round's decisions, besides the offset map."""

    now_ms: int
    high_watermark: int
    last_records: Mapping[int, LastRecord]  # by producer id
    config: LogConfig
    buffer_bytes: int


class GroupCleaning:
    """Cleans groups in order; a transaction may span several groups."""

    def __init__(
        self, directory: Directory, rules: Rules, batches: RecordFilter, aborted: AbortedTransactions, tally: CleanTally
    ) -> None:
        self._directory = directory
        self._rules = rules
        self._filter = batches
        self._aborted = aborted
        self._tally = tally
        self._transactions = CleanedTransactions()

    def steps(self, spans: Sequence[SegmentSpan], cleaned: CleanedSegment) -> Generator[int, None, None]:
        """Write the retained records of a group into a new segment. CorruptFile if a segment is damaged.

        Pauses with bytes only: this is compiled, and nothing may be thrown into it.
        """
        for span in spans:
            self._transactions.add_aborted(self._aborted.touching(span.base_offset, span.end_offset))
            yield from self._clean(span, cleaned)
            for entry in self._transactions.take_kept_entries():
                cleaned.append_aborted(entry)
        self._tally.bytes_written += cleaned.size

    def _clean(self, span: SegmentSpan, cleaned: CleanedSegment) -> Generator[int, None, None]:
        reader = SegmentBatchReader(self._directory, span, self._rules.buffer_bytes)
        reported, work = cleaned.bytes_written, 0
        tally = self._tally
        try:
            while (header := reader.next()) is not None:
                try:
                    filtered = yield from self._filtered(reader.batch, header)
                except DecodeError as damage:
                    raise reader.damage(reader.batch_position, str(damage)) from damage
                if filtered is not None:
                    cleaned.append(filtered[0], filtered[1], filtered[2])
                tally.bytes_read += header.size_in_bytes
                work += header.size_in_bytes + BATCH_COST_BYTES
                if work >= STEP_BYTES:
                    io = reader.bytes_read + cleaned.bytes_written
                    yield io - reported
                    reported, work = io, 0
        finally:
            reader.close()
        yield reader.bytes_read + cleaned.bytes_written - reported

    def _filtered(self, batch: bytes, header: BatchHeader) -> Generator[int, None, Filtered | None]:
        rules = self._rules
        can_discard = self._transactions.can_discard(header, kind_of(batch, header))
        discards = discards_records(header, can_discard, rules.now_ms)
        tells_an_end = header.next_offset == rules.high_watermark or tells_producers_end(
            header, rules.last_records.get(header.producer_id)
        )
        kind = retention(tells_an_end, discards)
        return (yield from self._filter.steps(batch, header, kind, discards, header.is_control and can_discard))
