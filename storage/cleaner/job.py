"""One round of cleaning of one partition's log, as a value that can be sent to a helper process.

The job reads sealed segments and writes new ones beside them, under names that other code ignores
(`.cleaned`); it changes, renames and removes no other file. The creator of the job selects the log and the range, and
handles the result: the swap. The job can be restarted from the beginning at any point.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from barnabas import form
from barnabas.protocol.files.names import FileKind, segment_file
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.records.record import RECORD_BYTES_MAX
from barnabas.protocol.records.record_rows import RecordTaker
from barnabas.storage.cleaner.aborted import AbortedTransactions
from barnabas.storage.cleaner.batch_retention import LastRecord
from barnabas.storage.cleaner.dirty_records import DirtyRecords
from barnabas.storage.cleaner.group import GroupCleaning, Rules
from barnabas.storage.cleaner.grouping import SegmentSizes, group_segments
from barnabas.storage.cleaner.mapping import MapBuilding
from barnabas.storage.cleaner.offset_map import ArrayOffsetMap, OffsetMap
from barnabas.storage.cleaner.reading import SegmentSpan
from barnabas.storage.cleaner.record_filter import RecordFilter
from barnabas.storage.cleaner.results import CleanedGroup, CleanResult, CleanTally
from barnabas.storage.cleaner.writing import CleanedSegment, remove_cleaned
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.files import Files
from barnabas.storage.errors import StorageError
from barnabas.storage.steps import Work

_MAP_BYTES_A_STATE: Final = 16
"""The dedupe buffer is this many times as large as the states of the dirty records may be."""


class SourceSegment(NamedTuple):
    """A sealed segment whose files are written, and the bytes of its log file."""

    base_offset: int
    size: int


class CleanJob(NamedTuple):
    """The sealed segments that begin below `first_uncleanable`, in order, and the parameters for their batches.

    A segment that reaches beyond that offset is not cleaned, as in Kafka. `end_offset` is the base offset of the
    segment after the last of `segments`. `aborted_later` are the aborted transactions that begin below it and whose
    markers lie after it (and so in no `.txnindex` of `segments`): without them their data would count as committed.
    `last_records` has the active producers by id. The batch that ends at `high_watermark` stays, empty if necessary.
    """

    directory: str
    segments: tuple[SourceSegment, ...]
    end_offset: int
    first_dirty: int
    first_uncleanable: int
    high_watermark: int
    now_ms: int
    config: LogConfig
    last_records: Mapping[int, LastRecord]
    aborted_later: tuple[AbortedTxn, ...] = ()
    dedupe_buffer_bytes: int = 128 << 20
    load_factor: float = 0.9
    io_buffer_bytes: int = 512 << 10

    def steps(self, files: Files) -> Work[CleanResult]:
        """Run the round. StorageError, CorruptFile among them; if it ends early for any reason, no new file is left."""
        disk = Disk(files, self.directory)
        directory = Directory(disk, self.directory)
        is_done = False
        try:
            remove_cleaned(directory)
            result = yield from self._clean(directory)
            is_done = True
        finally:
            if not is_done:
                with suppress(StorageError):  # the next round removes them, or the next start
                    remove_cleaned(directory)
            disk.close()
        return result

    def _clean(self, directory: Directory) -> Work[CleanResult]:
        tally = CleanTally()
        aborted = AbortedTransactions(directory, [each.base_offset for each in self.segments], self.aborted_later)
        spans = [span for span in self._spans() if span.end_offset <= self.first_uncleanable]
        max_record_bytes = min(self.config.max_decompressed_message_bytes, RECORD_BYTES_MAX)
        buffer_bytes = self.io_buffer_bytes // 2  # one half to read, one to write
        offset_map, records, taker = self._map(max_record_bytes, tally)
        mapping = MapBuilding(directory, offset_map, records, buffer_bytes, max_record_bytes, tally, taker)
        yield from mapping.steps(spans, aborted)
        end_offset = records.latest_offset + 1
        rules = Rules(self.now_ms, self.high_watermark, self.last_records, self.config, buffer_bytes)
        batches = RecordFilter(
            offset_map, records, self.now_ms, self.config.delete_retention_ms, max_record_bytes, tally
        )
        cleaning = GroupCleaning(directory, rules, batches, aborted, tally)
        groups = []
        for group in self._groups(directory, [span for span in spans if span.base_offset < end_offset]):
            cleaned = CleanedSegment(directory, group[0].base_offset, self.config, buffer_bytes)
            yield from cleaning.steps(group, cleaned)
            last_log = segment_file(group[-1].base_offset, FileKind.LOG)
            yield from cleaned.finish(directory.modified_ms(last_log))
            groups.append(CleanedGroup(tuple(span.base_offset for span in group), cleaned.size, cleaned.has_txn_index))
        if groups:
            yield directory.sync
        return CleanResult(tuple(groups), end_offset, tally.stats())

    def _map(self, max_record_bytes: int, tally: CleanTally) -> tuple[OffsetMap, DirtyRecords, RecordTaker | None]:
        """Return an empty map and states; in the compiled form those of vectors, and what fills them fast."""
        keys_max = max(self.first_uncleanable - self.first_dirty, 0)
        states_max = min(keys_max, self.dedupe_buffer_bytes // _MAP_BYTES_A_STATE)
        if form.running() == form.COMPILED:
            try:
                from barnabas.storage.cleaner import vector_offset_map as vectors
            except (ImportError, ValueError):  # no librt, or one that does not fit the compiler: slower, and no worse
                pass
            else:
                vector_map = vectors.VectorOffsetMap(self.dedupe_buffer_bytes, self.load_factor, keys_max)
                states = vectors.VectorDirtyRecords(self.first_dirty, states_max)
                return vector_map, states, vectors.VectorKeyTaker(vector_map, states, max_record_bytes, tally)
        array_map = ArrayOffsetMap(self.dedupe_buffer_bytes, self.load_factor, keys_max)
        return array_map, DirtyRecords(self.first_dirty, states_max), None

    def _spans(self) -> list[SegmentSpan]:
        ends = [*(segment.base_offset for segment in self.segments[1:]), self.end_offset]
        return [
            SegmentSpan(segment.base_offset, end, segment.size)
            for segment, end in zip(self.segments, ends, strict=False)
        ]

    def _groups(self, directory: Directory, spans: list[SegmentSpan]) -> list[list[SegmentSpan]]:
        def size(span: SegmentSpan, kind: FileKind) -> int:
            name = segment_file(span.base_offset, kind)
            return directory.size(name) if directory.exists(name) else 0

        sizes = [
            SegmentSizes(
                span.base_offset, span.size, size(span, FileKind.OFFSET_INDEX), size(span, FileKind.TIME_INDEX)
            )
            for span in spans
        ]
        by_base_offset = {span.base_offset: span for span in spans}
        end_offset = spans[-1].end_offset if spans else 0
        groups = group_segments(sizes, self.config.segment_bytes, self.config.segment_index_bytes, end_offset)
        return [[by_base_offset[each.base_offset] for each in group] for group in groups]
