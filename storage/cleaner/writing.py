"""The segment that replaces a group of others: four files that end in `.cleaned`, with Kafka's indexes.

Invariant: after `finish` the files are on the disk, and their names once the directory is synced, for all segments of
a round together. Until the broker renames the files they are not used: a start removes them.
"""

from __future__ import annotations

from barnabas.protocol.files.names import FileKind, FileState, parse_segment_file, segment_file
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.records.batch import BatchHeader
from barnabas.storage.config import LogConfig
from barnabas.storage.disk.directory import Directory
from barnabas.storage.segment.indexes import SegmentIndexes
from barnabas.storage.steps import Work


class CleanedSegment:
    """A segment being written. `size` is that of the log, `bytes_written` counts the bytes written to the file."""

    def __init__(self, directory: Directory, base_offset: int, config: LogConfig, buffer_bytes: int) -> None:
        self.base_offset = base_offset
        self.size = 0
        self.bytes_written = 0
        self._directory = directory
        self._buffer = bytearray()
        self._buffer_bytes = buffer_bytes
        for kind in _KINDS:
            directory.remove(segment_file(base_offset, kind, FileState.CLEANED))
        self._log = directory.open(segment_file(base_offset, FileKind.LOG, FileState.CLEANED), create=True)
        self._indexes = SegmentIndexes(directory, base_offset, config, FileState.CLEANED)
        self._indexes.reset()

    def append(self, header: BatchHeader, batch: bytes | bytearray, max_timestamp: int) -> None:
        """Append the next batch. `max_timestamp` is that of its records."""
        self._indexes.add(self.size, header.last_offset, max_timestamp)
        self._buffer += batch
        self.size += len(batch)
        if len(self._buffer) >= self._buffer_bytes:
            self._flush()

    @property
    def has_txn_index(self) -> bool:
        """Whether the segment has an entry of an aborted transaction, and so a `.txnindex` file."""
        return len(self._indexes.txn) > 0

    def append_aborted(self, entry: AbortedTxn) -> None:
        """Add a transaction whose ABORT marker is retained; in the order of the markers."""
        self._indexes.txn.append(entry)

    def finish(self, modified_ms: int) -> Work[None]:
        """Write and sync all files, with the modification time of the last segment they replace."""
        self._flush()
        self._indexes.close_time()
        self._indexes.write()
        self._log.set_modified_ms(modified_ms)
        yield 0
        yield self._log.sync
        self._log.close()
        for path in _INDEX_KINDS:
            name = segment_file(self.base_offset, path, FileState.CLEANED)
            if self._directory.exists(name):
                file = self._directory.open(name)
                file.set_modified_ms(modified_ms)
                yield file.sync
                file.close()

    def _flush(self) -> None:
        if self._buffer:
            self._log.pwrite(self._buffer, self.bytes_written)
            self.bytes_written += len(self._buffer)
            self._buffer.clear()


def remove_cleaned(directory: Directory) -> None:
    """Remove the files that unfinished rounds left."""
    for name in directory.names():
        found = parse_segment_file(name)
        if found is not None and found.state is FileState.CLEANED:
            directory.remove(name)


_INDEX_KINDS = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX, FileKind.TXN_INDEX)
_KINDS = (FileKind.LOG, *_INDEX_KINDS)
