"""Files of a disk that fails where a test requires it: writes, syncs and reads, of one kind of file at a time.

Knows the purpose of each file, by its path; `Strikes` decides which call fails. Replaces a data directory's files while
such a fault is armed, and is removed afterwards (disk_faults.py).

Of a partition these are the log with its batches, its three indexes, the producer snapshots and the leader epochs, each
a separate kind, so that one append is one call, and the n-th call is the n-th append. A file that is written under a
temporary name counts as the file it will become. Files in deletion, or written by the cleaner, are not affected.
"""

from __future__ import annotations

import errno
import os
from typing import Protocol

from barnabas.broker.control.faults.matching import DiskPlace
from barnabas.broker.control.faults.model import DiskError, DiskFileKind, DiskOperation
from barnabas.broker.partitions.disk_space.disk_space_watch import TRIAL_NAME
from barnabas.protocol.files.names import (
    CLEANER_CHECKPOINT,
    CLUSTER_METADATA_TOPIC,
    HIGH_WATERMARK_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    TEMPORARY_SUFFIX,
    FileKind,
    FileState,
    parse_partition_directory,
    parse_segment_file,
)
from barnabas.storage.disk.files import Buffer, CommonSync, Entry, File, Files, FileStat, Lock, Volume

_CHECKPOINTS = (
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    CLEANER_CHECKPOINT,
)
_OF_KIND = {
    FileKind.LOG: DiskFileKind.LOG,
    FileKind.OFFSET_INDEX: DiskFileKind.INDEX,
    FileKind.TIME_INDEX: DiskFileKind.TIMEINDEX,
    FileKind.TXN_INDEX: DiskFileKind.TXNINDEX,
    FileKind.PRODUCER_SNAPSHOT: DiskFileKind.SNAPSHOT,
}
_ERRNO = {DiskError.ENOSPC: errno.ENOSPC, DiskError.EIO: errno.EIO}


class Strikes(Protocol):
    """Decides whether an armed fault fires. Called in any thread."""

    def strike(self, operation: DiskOperation, place: DiskPlace) -> DiskError | None:
        """Return the error of the disk if a fault fires, else None. A delay by a fault is over on return."""

    def is_full(self) -> bool:
        """Return whether appends find no space at present, because of a fault."""


class WrappedFile:
    """A file that passes every call to another file."""

    def __init__(self, file: File) -> None:
        self.file = file

    def pread(self, size: int, position: int, /) -> bytes:
        return self.file.pread(size, position)

    def pread_into(self, buffer: memoryview, position: int, /) -> int:
        return self.file.pread_into(buffer, position)

    def pwrite(self, data: Buffer, position: int, /) -> int:
        return self.file.pwrite(data, position)

    def size(self) -> int:
        return self.file.size()

    def truncate(self, size: int) -> None:
        self.file.truncate(size)

    def set_modified_ms(self, modified_ms: int) -> None:
        self.file.set_modified_ms(modified_ms)

    def sync(self) -> None:
        self.file.sync()

    def close(self) -> None:
        self.file.close()


class FaultyFile(WrappedFile):
    """A file that a fault may affect."""

    def __init__(self, file: File, strikes: Strikes, place: DiskPlace) -> None:
        super().__init__(file)
        self._strikes = strikes
        self._place = place

    def pread(self, size: int, position: int, /) -> bytes:
        self._meet(DiskOperation.READ)
        return self.file.pread(size, position)

    def pread_into(self, buffer: memoryview, position: int, /) -> int:
        self._meet(DiskOperation.READ)
        return self.file.pread_into(buffer, position)

    def pwrite(self, data: Buffer, position: int, /) -> int:
        self._meet(DiskOperation.APPEND)
        return self.file.pwrite(data, position)

    def sync(self) -> None:
        self._meet(DiskOperation.SYNC)
        self.file.sync()

    def _meet(self, operation: DiskOperation) -> None:
        error = self._strikes.strike(operation, self._place)
        if error is not None:
            raise _os_error(error)


class FileWithoutRoom(WrappedFile):
    """The trial file that checks whether there is space again (broker/partitions/disk_space/disk_space_watch.py).

    Its writes fail while appends find no space.
    """

    def __init__(self, file: File, strikes: Strikes) -> None:
        super().__init__(file)
        self._strikes = strikes

    def pwrite(self, data: Buffer, position: int, /) -> int:
        if self._strikes.is_full():
            raise _os_error(DiskError.ENOSPC)
        return self.file.pwrite(data, position)


class FaultyFiles:
    """Files of a disk, some of which fail."""

    def __init__(self, files: Files, strikes: Strikes) -> None:
        self.files = files
        self._strikes = strikes

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        file = self.files.open(path, create=create, read_only=read_only)
        directory, _, name = path.rpartition("/")
        if name == TRIAL_NAME:
            return FileWithoutRoom(file, self._strikes)
        place = place_of(directory.rpartition("/")[2], name.removesuffix(TEMPORARY_SUFFIX))
        return file if place is None else FaultyFile(file, self._strikes, place)

    def stat(self, path: str) -> FileStat:
        return self.files.stat(path)

    def entries(self, path: str) -> list[Entry]:
        return self.files.entries(path)

    def volume(self, path: str) -> Volume:
        return self.files.volume(path)

    def mkdir(self, path: str) -> None:
        self.files.mkdir(path)

    def rename(self, source: str, target: str) -> None:
        self.files.rename(source, target)

    def remove(self, path: str) -> None:
        self.files.remove(path)

    def rmdir(self, path: str) -> None:
        self.files.rmdir(path)

    def sync_directory(self, path: str) -> None:
        self.files.sync_directory(path)

    def common_sync(self, path: str) -> CommonSync | None:
        return self.files.common_sync(path)

    def lock(self, path: str) -> Lock:
        return self.files.lock(path)


def place_of(directory: str, name: str) -> DiskPlace | None:
    """Return which file this is, by its name and its directory's name; None for a file that no fault affects."""
    if name in _CHECKPOINTS:
        return DiskPlace(DiskFileKind.CHECKPOINT)
    found = parse_partition_directory(directory)
    if found is None:
        return None
    if found.topic == CLUSTER_METADATA_TOPIC:
        return DiskPlace(DiskFileKind.CATALOGUE)
    where = found.topic, found.partition
    if name == LEADER_EPOCH_CHECKPOINT:
        return DiskPlace(DiskFileKind.CHECKPOINT, *where)
    segment = parse_segment_file(name)
    if segment is None or segment.state is not FileState.LIVE:
        return None
    return DiskPlace(_OF_KIND[segment.kind], *where)


def _os_error(error: DiskError) -> OSError:
    number = _ERRNO[error]
    return OSError(number, os.strerror(number))
