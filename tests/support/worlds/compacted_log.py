"""A partition's sealed segments, written batch by batch, and cleaned round by round as a broker would."""

from collections.abc import Sequence

from barnabas.protocol.files.names import FileKind, FileState, segment_file
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.records.batch import BatchHeader, iter_batches, parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import end_txn_marker
from barnabas.protocol.records.record import BatchRecord, iter_records
from barnabas.storage.cleaner.batch_retention import LastRecord
from barnabas.storage.cleaner.job import CleanJob, SourceSegment
from barnabas.storage.cleaner.results import CleanResult
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.files import Files
from barnabas.storage.segment.indexes import SegmentIndexes
from tests.support.work import finish_work

TIME_MS = 1_700_000_000_000
_INDEXES = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX)

Pair = tuple[bytes | None, bytes | None]
"""(key, value)."""


class CompactedLog:
    """Segments that `roll` seals. Aborted transactions are known as a broker knows them."""

    def __init__(self, files: Files, path: str, config: LogConfig | None = None) -> None:
        self.files = files
        self.config = config or LogConfig(index_interval_bytes=100)
        self.directory = Directory(Disk(files, path), path)
        self.next_offset = self.base_offset = 0
        self.segments: list[SourceSegment] = []
        self.end_offset = 0
        self.first_dirty = 0
        self.last_records: dict[int, LastRecord] = {}
        self.history: list[tuple[int, bytes | None, bytes | None]] = []  # (offset, key, value) ever written
        self.aborted_offsets: set[int] = set()
        self._undecided: dict[int, list[int]] = {}  # offsets by producer id
        self._batches: list[bytes] = []
        self._open: dict[int, int] = {}  # producer id to first offset
        self._aborted: list[AbortedTxn] = []

    # --- writing ---

    def data(
        self,
        *pairs: Pair,
        producer: tuple[int, int] | None = None,
        sequence: int = 0,
        transactional: bool = False,
        compression: int = 0,
        timestamp: int | None = None,
        timestamp_type: int = 0,
    ) -> int:
        """A batch with these keys and values. Returns its base offset."""
        producer_id, epoch = producer or (-1, -1)
        first = TIME_MS + self.next_offset if timestamp is None else timestamp
        batch = build_batch(
            [NewRecord(key, value, [("h", b"x")] * (at % 2), first + at) for at, (key, value) in enumerate(pairs)],
            base_offset=self.next_offset,
            leader_epoch=7,
            compression=compression,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence if producer else -1,
            transactional=transactional,
            timestamp_type=timestamp_type,
        )
        offsets = range(self.next_offset, self.next_offset + len(pairs))
        self.history += ((offset, key, value) for offset, (key, value) in zip(offsets, pairs, strict=True))
        if transactional:
            self._open.setdefault(producer_id, self.next_offset)
            self._undecided.setdefault(producer_id, []).extend(offsets)
        if producer is not None:
            self.last_records[producer_id] = LastRecord(self.next_offset + len(pairs) - 1, epoch)
        return self.take(batch)

    def segment(self, *batches: Sequence[Pair]) -> None:
        """A sealed segment of these batches."""
        for pairs in batches:
            self.data(*pairs)
        self.roll()

    def marker(self, producer: tuple[int, int], *, commit: bool) -> int:
        """The end of a producer's transaction. Returns its offset."""
        offset = self.next_offset
        self.take(end_txn_marker(commit, *producer, 0, TIME_MS + offset, offset, 7))
        first = self._open.pop(producer[0], None)
        offsets = self._undecided.pop(producer[0], [])
        if not commit:
            self.aborted_offsets.update(offsets)
        if first is not None and not commit:
            stable = min(self._open.values(), default=offset + 1)
            self._aborted.append(AbortedTxn(producer[0], first, offset, stable))
        return offset

    def take(self, batch: bytes | bytearray) -> int:
        """A batch as it is, at the offset that it says."""
        header = parse_header(batch)
        assert header.base_offset >= self.next_offset
        self._batches.append(bytes(batch))
        self.next_offset = header.next_offset
        return header.base_offset

    def roll(self) -> None:
        """Seal what was taken as a segment, and begin the next one."""
        if not self._batches:
            return
        self.segments.append(SourceSegment(self.base_offset, self.write()))
        self.base_offset = self.end_offset = self.next_offset
        self._batches, self._aborted = [], []

    def write(self) -> int:
        """Write the files of the present segment, also where it is empty. Returns the size of its log."""
        indexes = SegmentIndexes(self.directory, self.base_offset, self.config)
        indexes.reset()
        indexes.txn.clear()
        position = 0
        for batch in self._batches:
            header = parse_header(batch)
            indexes.add(position, header.last_offset, header.max_timestamp)
            position += len(batch)
        for entry in self._aborted:
            indexes.txn.append(entry)
        indexes.close_time()
        self.directory.write(segment_file(self.base_offset, FileKind.LOG), b"".join(self._batches), 0)
        indexes.write()
        return position

    # --- cleaning ---

    @property
    def last_stable_offset(self) -> int:
        """Below the first transaction that is open."""
        return min(self._open.values(), default=self.next_offset)

    def job(
        self,
        *,
        now_ms: int = TIME_MS,
        first_uncleanable: int | None = None,
        high_watermark: int | None = None,
        dedupe_buffer_bytes: int = 1 << 16,
        io_buffer_bytes: int = 1 << 10,
    ) -> CleanJob:
        """A round over everything that is sealed and decided."""
        bound = min(self.end_offset, self.last_stable_offset) if first_uncleanable is None else first_uncleanable
        segments = tuple(segment for segment in self.segments if segment.base_offset < bound)
        behind = [segment.base_offset for segment in self.segments if segment.base_offset >= bound]
        end_offset = behind[0] if behind else self.end_offset
        later = [entry for base_offset in behind for entry in self.aborted(base_offset)] + self._aborted
        return CleanJob(
            directory=self.directory.path,
            segments=segments,
            end_offset=end_offset,
            first_dirty=self.first_dirty,
            first_uncleanable=bound,
            high_watermark=self.next_offset if high_watermark is None else high_watermark,
            now_ms=now_ms,
            config=self.config,
            last_records=dict(self.last_records),
            aborted_later=tuple(entry for entry in later if entry.first_offset < end_offset),
            dedupe_buffer_bytes=dedupe_buffer_bytes,
            io_buffer_bytes=io_buffer_bytes,
        )

    def clean(self, *, now_ms: int = TIME_MS, high_watermark: int | None = None, **more: int) -> CleanResult:
        """A round, and the swap."""
        job = self.job(now_ms=now_ms, high_watermark=high_watermark, **more)
        result = finish_work(job.steps(self.files))
        self.swap(result)
        return result

    def swap(self, result: CleanResult) -> None:
        """Put the new segments in the place of the old ones."""
        for group in result.groups:
            for base_offset in group.source_base_offsets:
                for kind in (FileKind.LOG, *_INDEXES):
                    self.directory.remove(segment_file(base_offset, kind))
            for kind in (FileKind.LOG, *_INDEXES):
                cleaned = segment_file(group.base_offset, kind, FileState.CLEANED)
                if self.directory.exists(cleaned):
                    self.directory.rename(cleaned, segment_file(group.base_offset, kind))
            gone = set(group.source_base_offsets)
            self.segments = [segment for segment in self.segments if segment.base_offset not in gone]
            self.segments.append(SourceSegment(group.base_offset, group.log_bytes))
        self.segments.sort()
        self.first_dirty = result.end_offset

    # --- looking ---

    def segment_ends(self) -> list[int]:
        """The offset behind each sealed segment."""
        return [*(segment.base_offset for segment in self.segments[1:]), self.end_offset]

    def log(self, base_offset: int) -> bytes:
        """A segment's log file."""
        return self.directory.read(segment_file(base_offset, FileKind.LOG)) or b""

    def batches(self) -> list[tuple[BatchHeader, bytes]]:
        """Every batch that is sealed."""
        found = []
        for segment in self.segments:
            log = self.log(segment.base_offset)
            assert len(log) == segment.size
            found += [(header, log[at : at + header.size_in_bytes]) for at, header in iter_batches(log)]
        return found

    def records(self) -> list[BatchRecord]:
        """Every record of data that is sealed."""
        return [record for header, batch in self.batches() if not header.is_control for record in iter_records(batch)]

    def kept(self) -> Sequence[tuple[int, bytes | None, bytes | None]]:
        """(offset, key, value) of those records."""
        return [(record.offset, record.key, record.value) for record in self.records()]

    def not_committed(self) -> set[int]:
        """The offsets of aborted and of open transactions."""
        return self.aborted_offsets.union(*self._undecided.values())

    def markers(self) -> list[int]:
        """The offsets of the markers that have a record."""
        return [header.base_offset for header, _ in self.batches() if header.is_control and header.records_count]

    def aborted(self, base_offset: int) -> list[AbortedTxn]:
        """A segment's entries of aborted transactions."""
        return SegmentIndexes(self.directory, base_offset, self.config).txn.entries
