# compiled: mypyc
"""The durable part of a segment, and the files of it that a flush has to sync.

Knows sizes and files; syncs nothing itself. Sizes are of the log file; the indexes count as a whole, and only a sealed
segment's are synced: an active one's can be rebuilt from the log. The exception is the transaction index, whose
entries below the recovery point no recovery would find again: it is synced with the log.

A truncated log must be synced again even at a size that was durable before: part of the removed write may be on the
disk, and after a power cut a sealed segment would end in a partial batch. A sync in progress may have preceded the
truncation, so it does not count.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.storage.disk.disk_file import DiskFile
from barnabas.storage.segment.indexes import UNKNOWN, SegmentIndexes


class SyncWork(NamedTuple):
    """The part of a segment that is not known to be durable: pass back to `Segment.mark_synced` after the sync."""

    files: list[DiskFile]
    paths: list[str]
    size: int
    aborted: int
    is_sealed: bool
    cuts: int


class SyncState:
    """The state of durability of one segment."""

    __slots__ = ("_are_indexes_synced", "_cuts", "_indexes", "_size_synced")

    def __init__(self, indexes: SegmentIndexes) -> None:
        self._indexes = indexes
        self._size_synced = 0
        self._cuts = 0
        self._are_indexes_synced = False

    def all_synced(self, size: int) -> None:
        """Mark everything as durable, the `size` bytes of the log as well as the indexes."""
        self._size_synced = size
        self._are_indexes_synced = True

    def indexes_changed(self) -> None:
        """Note that the indexes differ, or soon will differ, from the files on the disk."""
        self._are_indexes_synced = False

    def cut(self) -> None:
        """Note that the log was truncated: it is not known to be durable at any size."""
        self._cuts += 1
        self._size_synced = UNKNOWN
        self._are_indexes_synced = False

    def are_indexes_final(self, size: int) -> bool:
        """Return whether the index files are written and durable for a log of `size` bytes: then a seal writes none."""
        return self._are_indexes_synced and size == self._size_synced and self._indexes.is_written

    def work(self, log: DiskFile, size: int, *, is_sealed: bool) -> SyncWork:
        """Return what is not known to be durable."""
        indexes = self._indexes
        files = [log] if size != self._size_synced else []
        paths: list[str] = []
        if is_sealed:
            if not self._are_indexes_synced:
                paths = indexes.paths()
        elif indexes.txn.needs_sync:
            indexes.txn.write()
            paths = [indexes.directory.path_of(indexes.txn.name)]
        return SyncWork(files, paths, size, len(indexes.txn), is_sealed, self._cuts)

    def synced(self, work: SyncWork) -> None:
        """Mark everything in `work` as durable, unless the log was truncated meanwhile."""
        if work.cuts != self._cuts:
            return
        if work.size != self._size_synced:
            self._are_indexes_synced = False
        self._size_synced = work.size
        self._are_indexes_synced = self._are_indexes_synced or work.is_sealed
        self._indexes.txn.mark_synced(work.aborted)
