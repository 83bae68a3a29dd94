"""The files of `__cluster_metadata-0`: read whole at start, then appended to one synced batch at a time.

Knows batches and offsets, not the records in them. Segments are ordinary ones without indexes, a checkpoint `<end
offset>-<epoch>.checkpoint` replaces everything below its end offset (docs/formats/catalogue.md).

Invariants: an appended batch is on the disk when `append` returns; if it raises, nothing of the batch will be read
again, unless the disk failed so that it must be left to the next start. Because every batch is synced before the next
is written, only the last one can be torn: damage with a valid batch behind it is corruption, and such a log is not
opened. After a clean stop none is torn, and `catalogue-end` contains the end of the log: it is never shorter again.
"""

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files.checkpoints import decode_offsets, encode_offsets
from barnabas.protocol.files.names import (
    CATALOGUE_END,
    CLEAN_SHUTDOWN,
    CLUSTER_METADATA_TOPIC,
    FileKind,
    FileState,
    MetadataSnapshot,
    parse_metadata_snapshot,
    parse_segment_file,
    segment_file,
)
from barnabas.protocol.records.batch import (
    HEADER_SIZE,
    MAGIC_POSITION,
    BatchHeader,
    next_batch_size,
    parse_header,
    verify_crc,
)
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk_file import DiskFile
from barnabas.storage.disk.small_file import SmallFile
from barnabas.storage.disk.sync_job import RemovalJob, SyncJob
from barnabas.storage.errors import StorageError

_log = logger("catalogue")

BATCH_BYTES_MAX = 8 << 20  # Kafka's own limit for this log
NO_EPOCH = 0
_MAGIC = b"\x02"
_CATALOGUE = CLUSTER_METADATA_TOPIC, 0
_OFFSETS_AHEAD_MAX = 1 << 31  # of a batch behind a damaged one, which only has to be plausible


class CatalogueError(Exception):
    """The catalogue in this directory cannot be opened. str() describes the error and its place."""


class StoredBatch(NamedTuple):
    """A batch that was read: its header and all of its bytes.

    `in_snapshot` batches number their records from zero. `in_bootstrap`: in the snapshot at offset 0, which replaces no
    log, and existed before it.
    """

    header: BatchHeader
    data: memoryview
    in_snapshot: bool
    in_bootstrap: bool


class MetadataLog:
    """The log of one data directory. Call `read` to the end once, then `append` any number of times."""

    def __init__(self, directory: Directory, *, was_clean: bool = False) -> None:
        """Open the log in `directory` (`__cluster_metadata-0`, existing). was_clean: clean last run, no torn tail."""
        self._directory = directory
        self._was_clean = was_clean
        self.next_offset = 0
        self.last_epoch = NO_EPOCH
        self.last_timestamp_ms = -1
        self.bytes_behind_snapshot = 0
        """The number of bytes that a start reads of the log, besides the newest snapshot."""
        self.is_in_thread = False
        """Whether a snapshot is being written, or the files it replaces removed, in a thread."""
        self._file: DiskFile | None = None  # the segment appended to; None yet
        self._position = 0
        self._noted_end = 0  # the content of `catalogue-end`
        self._name_is_safe = False  # whether the segment's name is durable, as far as this run knows

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a record nor a snapshot of any."""
        return self.next_offset == 0

    # --- reading ---

    def read(self) -> Iterator[StoredBatch]:
        """Yield every valid batch, in order: the newest snapshot's, then the log's behind it. Cut off a torn tail.

        Raise CatalogueError for damage that is no torn tail.
        """
        self._noted_end = self._read_end()
        names = self._directory.names()
        snapshots = [found for name in names if (found := parse_metadata_snapshot(name)) is not None]
        newest = max(snapshots, default=None)
        if newest is not None:
            yield from self._read_snapshot(newest)
        segments = [
            parsed.base_offset
            for name in names
            if (parsed := parse_segment_file(name)) and (parsed.kind, parsed.state) == (FileKind.LOG, FileState.LIVE)
        ]
        segments.sort()
        start = self.next_offset
        del segments[: max(bisect_right(segments, start) - 1, 0)]  # a power cut may have restored some of these
        if segments and segments[0] > start:
            raise CatalogueError(f"{self._where()} begins at offset {segments[0]} and no snapshot reaches that far")
        log_end = segments[0] if segments else start
        for index, base_offset in enumerate(segments):
            if base_offset != log_end:
                raise CatalogueError(f"{self._where()}: offsets {log_end} to {base_offset} are missing")
            for batch in self._read_segment(base_offset, is_last=index == len(segments) - 1):
                log_end = batch.header.next_offset
                if log_end > start:
                    self._account(batch.header)
                    yield batch
        if log_end < start:
            raise CatalogueError(f"{self._where()} ends at {log_end}, before its snapshot at {start}")
        if log_end < self._noted_end:
            raise CatalogueError(
                f"{self._where()} ends at offset {log_end}, and ended at {self._noted_end} when the broker was last "
                f"stopped cleanly: restore it, or remove {self._directory.path_of(CATALOGUE_END)} to continue without "
                "the missing changes"
            )
        self.next_offset = log_end

    def _read_end(self) -> int:
        data = self._directory.read(CATALOGUE_END)
        try:
            return 0 if data is None else decode_offsets(data).get(_CATALOGUE, 0)
        except DecodeError as error:
            path = self._directory.path_of(CATALOGUE_END)
            raise CatalogueError(
                f"{path} is damaged ({error}): restore it, or remove it if {self._where()} is known to be complete"
            ) from error

    def _read_snapshot(self, snapshot: MetadataSnapshot) -> Iterator[StoredBatch]:
        data = self._directory.read(snapshot.name)
        assert data is not None, "it was listed a moment ago"
        position = 0
        while position < len(data):
            size = _good_batch_size(data, position)
            if size is None:
                raise CatalogueError(f"{self._directory.path_of(snapshot.name)} is damaged at byte {position}")
            batch = memoryview(data)[position : position + size]
            yield StoredBatch(parse_header(data, position), batch, True, snapshot.end_offset == 0)
            position += size
        self.next_offset, self.last_epoch = snapshot.end_offset, snapshot.epoch

    def _read_segment(self, base_offset: int, *, is_last: bool) -> Iterator[StoredBatch]:
        name = segment_file(base_offset, FileKind.LOG)
        data = self._directory.read(name)
        assert data is not None, "it was listed a moment ago"
        position, expected = 0, base_offset
        while position < len(data):
            size = _good_batch_size(data, position)
            if size is None or parse_header(data, position).base_offset != expected:
                break
            header = parse_header(data, position)
            yield StoredBatch(header, memoryview(data)[position : position + size], False, False)
            position += size
            expected = header.next_offset
        self._file, self._position = self._directory.open(name), position
        if position < len(data):
            self._cut(self._file, data, position, expected, is_last=is_last)

    def _cut(self, file: DiskFile, data: bytes, position: int, offset: int, *, is_last: bool) -> None:
        """Cut a torn tail off. Raise CatalogueError if the data at `position` is not the torn last batch."""
        where = f"{file.path} is damaged at byte {position} (offset {offset})"
        if not is_last:
            raise CatalogueError(f"{where}, and it is not the last segment")
        if _good_batch_behind(data, position, offset):
            raise CatalogueError(f"{where}, and valid batches follow, so this is not a torn tail")
        if self._was_clean or offset < self._noted_end:
            raise CatalogueError(
                f"{where}, and the broker was stopped cleanly: restore the file, or remove {CLEAN_SHUTDOWN} and "
                f"{CATALOGUE_END} to continue without this change and those of the same batch"
            )
        _log.warning(line("unanswered change cut", where=where, bytes_dropped=len(data) - position))
        file.truncate(position)
        file.sync()

    # --- writing ---

    def append(self, batch: bytearray) -> None:
        """Write one batch and sync it. Raise StorageError if that fails; the batch is not in the log then.

        The batch carries its offset and epoch: `next_offset`, and an epoch that does not fall.
        """
        header = parse_header(batch)
        assert header.base_offset == self.next_offset
        assert header.partition_leader_epoch >= self.last_epoch
        if header.size_in_bytes > BATCH_BYTES_MAX:
            raise StorageError(self._where(), f"a change of {header.size_in_bytes} bytes is too large")
        if self._file is None:
            self._file = self._directory.open(segment_file(self.next_offset, FileKind.LOG), create=True)
        try:
            self._file.pwrite(batch, self._position)
            self._file.sync()
            if not self._name_is_safe:
                self._directory.sync()
        except StorageError:
            self._take_back(self._file)
            raise
        self._name_is_safe = True
        self._position += len(batch)
        self.next_offset = header.next_offset
        self._account(header)

    def _account(self, header: BatchHeader) -> None:
        self.last_epoch, self.last_timestamp_ms = header.partition_leader_epoch, header.max_timestamp
        self.bytes_behind_snapshot += header.size_in_bytes

    def note_end(self) -> None:
        """Note the end, so that no later start opens a log that ends before it. Raises StorageError."""
        if self.next_offset != self._noted_end:
            self._directory.write_atomically(CATALOGUE_END, encode_offsets({_CATALOGUE: self.next_offset}))
            self._noted_end = self.next_offset

    def replace_with_snapshot(self, content: bytes) -> None:
        """Replace all records by a snapshot, and begin the log behind it. Raises StorageError.

        The snapshot is on the disk before the files it replaces are removed, so one or the other always exists.
        """
        snapshot = MetadataSnapshot(self.next_offset, self.last_epoch)
        self._directory.write_atomically(snapshot.name, content)
        self._begin_segment()
        self.bytes_behind_snapshot = 0
        for name in self._older_than(snapshot):
            self._directory.remove(name)
        self._directory.sync()

    def replace_in_steps(self, content: bytes) -> Generator[Callable[[], None], None, None]:
        """Do the same while changes continue, with all disk waits in a thread; a cancelled run does nothing more.

        `content` is the snapshot of the current state. Later batches are appended to a segment that begins here.
        """
        snapshot, bytes_replaced = MetadataSnapshot(self.next_offset, self.last_epoch), self.bytes_behind_snapshot
        file = SmallFile(self._directory, snapshot.name)
        file.changed()
        self._begin_segment()
        try:
            yield from self._in_thread(SyncJob(self._directory.disk, replacements=[file.replacement(content)]))
            self.bytes_behind_snapshot -= bytes_replaced
            yield from self._in_thread(RemovalJob(self._directory, self._older_than(snapshot)))
        finally:
            file.give_up()

    def _begin_segment(self) -> None:
        """Start a new segment at the end of the log, unless the current one is empty."""
        if self._file is not None and not self._position:
            return
        fresh = self._directory.open(segment_file(self.next_offset, FileKind.LOG), create=True)
        fresh.truncate(0)
        self._directory.sync()
        if self._file is not None:
            self._file.close()
        self._file, self._position, self._name_is_safe = fresh, 0, True

    def _older_than(self, snapshot: MetadataSnapshot) -> list[str]:
        """Return the names of the files that the snapshot replaces, segments in the order of their offsets."""
        return [
            name
            for name in sorted(self._directory.names())
            if ((parsed := parse_segment_file(name)) is not None and parsed.base_offset < snapshot.end_offset)
            or ((older := parse_metadata_snapshot(name)) is not None and older < snapshot)
        ]

    def _in_thread(self, job: SyncJob) -> Generator[Callable[[], None], None, None]:
        """Run a job in a thread. Raise StorageError if it failed."""
        failure, has_run = StorageError(self._where(), "given up"), False

        def run() -> None:
            nonlocal has_run
            job.run()
            has_run = True

        self.is_in_thread = True
        try:
            yield run
        except StorageError as error:
            failure = error
            raise
        finally:
            self.is_in_thread = False
            if has_run:
                job.finish()
            else:
                job.failed(failure)

    def _take_back(self, file: DiskFile) -> None:
        """Cut off the remains of a failed append. If that fails, too, take the disk offline: nothing may follow them.

        Durably, or a power cut after a clean stop could bring back half a batch, which no start would open.
        """
        disk = self._directory.disk
        if disk.offline_reason is not None:
            return
        try:
            file.truncate(self._position)
            file.sync()
        except StorageError as failure:
            disk.go_offline(str(failure))

    def _where(self) -> str:
        return f"{CLUSTER_METADATA_TOPIC} in {self._directory.path}"


def _good_batch_size(data: bytes, position: int) -> int | None:
    """Return the size in bytes of the complete, undamaged batch at `position`; None if there is none."""
    try:
        size = next_batch_size(data, position, len(data), BATCH_BYTES_MAX)
        if size is None or size < HEADER_SIZE:
            return None
        parse_header(data, position)
    except DecodeError:
        return None
    return size if verify_crc(memoryview(data)[position : position + size]) else None


def _good_batch_behind(data: bytes, position: int, offset: int) -> bool:
    """Return whether an undamaged batch of a later offset begins anywhere behind `position`."""
    magic_at = data.find(_MAGIC, position + 1 + MAGIC_POSITION)
    while magic_at >= 0:
        start = magic_at - MAGIC_POSITION
        ahead = int.from_bytes(data[start : start + 8], "big") - offset
        if 0 < ahead < _OFFSETS_AHEAD_MAX and _good_batch_size(data, start) is not None:
            return True
        magic_at = data.find(_MAGIC, magic_at + 1)
    return False
