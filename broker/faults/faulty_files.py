"""Files of a disk that fails where a test wants it to: appends and syncs of partitions' logs.

Knows which call is which partition's append or sync, by the file's path; which of them fails is for `Strikes` to say.
Put in the place of a data directory's files while such a fault is armed, and taken away after that (disk_faults.py).

Every file of a partition's log with batches (`.log`) is looked at. Its indexes, snapshots and names are left alone, so
that one append is one call, and one sync another: the n-th is the n-th of the partition.
"""

from __future__ import annotations

import errno
import os
from typing import Protocol

from barnabas.broker.faults.model import DiskError, DiskOperation
from barnabas.broker.room.watch import TRIAL_NAME
from barnabas.protocol.files.names import FileKind, FileState, parse_partition_directory, parse_segment_file
from barnabas.storage.disk.files import Buffer, CommonSync, Entry, File, Files, FileStat, Lock, Volume

_ERRNO = {DiskError.ENOSPC: errno.ENOSPC, DiskError.EIO: errno.EIO}


class Strikes(Protocol):
    """Whether an armed fault strikes. Asked in any thread."""

    def strike(self, operation: DiskOperation, topic: str, partition: int) -> DiskError | None:
        """What the disk says instead of doing it, if anything. A fault that makes it slow is over on return."""

    def is_full(self) -> bool:
        """Whether somebody's appends find no room, as long as that lasts."""


class WrappedFile:
    """Another file, as it is."""

    def __init__(self, file: File) -> None:
        self.file = file

    def pread(self, size: int, position: int, /) -> bytes:
        return self.file.pread(size, position)

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
    """A segment of a partition's log."""

    def __init__(self, file: File, strikes: Strikes, topic: str, partition: int) -> None:
        super().__init__(file)
        self._strikes = strikes
        self._partition = topic, partition

    def pwrite(self, data: Buffer, position: int, /) -> int:
        self._meet(DiskOperation.APPEND)
        return self.file.pwrite(data, position)

    def sync(self) -> None:
        self._meet(DiskOperation.SYNC)
        self.file.sync()

    def _meet(self, operation: DiskOperation) -> None:
        error = self._strikes.strike(operation, *self._partition)
        if error is not None:
            raise _os_error(error)


class FileWithoutRoom(WrappedFile):
    """What the broker tries whether there is room again (broker/room/watch.py): not while appends find none."""

    def __init__(self, file: File, strikes: Strikes) -> None:
        super().__init__(file)
        self._strikes = strikes

    def pwrite(self, data: Buffer, position: int, /) -> int:
        if self._strikes.is_full():
            raise _os_error(DiskError.ENOSPC)
        return self.file.pwrite(data, position)


class FaultyFiles:
    """Other files, some of which fail."""

    def __init__(self, files: Files, strikes: Strikes) -> None:
        self.files = files
        self._strikes = strikes

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        file = self.files.open(path, create=create, read_only=read_only)
        directory, _, name = path.rpartition("/")
        if name == TRIAL_NAME:
            return FileWithoutRoom(file, self._strikes)
        segment = parse_segment_file(name)
        if segment is None or segment.kind is not FileKind.LOG or segment.state is not FileState.LIVE:
            return file
        found = parse_partition_directory(directory.rpartition("/")[2])
        return file if found is None else FaultyFile(file, self._strikes, found.topic, found.partition)

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


def _os_error(error: DiskError) -> OSError:
    number = _ERRNO[error]
    return OSError(number, os.strerror(number))
