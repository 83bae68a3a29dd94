# compiled: mypyc
"""A file that is opened when it is used and may be closed between two uses, and slices of it to be read later.

Knows bytes and positions. No upper layer holds a descriptor, so thousands of partitions need only a small limit of
open files; a file pinned for a sync in another thread stays open.
"""

from __future__ import annotations

from typing import Protocol

from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.files import Buffer, File
from barnabas.storage.disk.full_io import close_quietly, read_fully, read_fully_into, sync_file, write_fully
from barnabas.storage.errors import FileRemoved, SyncFailed, from_os_error


class Home(Protocol):
    """The directory of a file, as far as the file uses it."""

    disk: Disk

    def path_of(self, name: str) -> str:
        """Return the path of a name in the directory, wherever the directory is now."""

    def rename(self, source: str, target: str) -> None:
        """Rename a file."""

    def remove(self, name: str) -> None:
        """Remove a file."""


class DiskFile:
    """A file that is opened when used. Written by one owner; a short write is always detected."""

    __slots__ = ("_file", "_is_removed", "_pinned", "directory", "name", "recently_used")

    def __init__(self, directory: Home, name: str) -> None:
        self.directory = directory
        self.name = name
        self.recently_used = False
        self._file: File | None = None
        self._pinned: list[File] = []
        self._is_removed = False

    @property
    def path(self) -> str:
        """The current path of the file."""
        return self.directory.path_of(self.name)

    @property
    def is_open(self) -> bool:
        """Whether there is a descriptor at the moment. False after a use that failed for lack of descriptors."""
        return self._file is not None

    def pwrite(self, data: Buffer, position: int) -> None:
        """Write all of `data`. On StorageError an unknown part of it is in the file; nothing if it is not open now."""
        file = self._file or self._open()
        self.recently_used = True
        try:
            written = file.pwrite(data, position)
            if written != len(data):
                write_fully(file, memoryview(data)[written:], position + written)
        except OSError as error:
            raise self.directory.disk.failure(self.path, f"write {len(data)} bytes at {position}", error) from error

    def pread(self, size: int, position: int) -> bytes:
        """Return `size` bytes, fewer only if the file ends before."""
        file = self._file or self._open()
        self.recently_used = True
        try:
            data = file.pread(size, position)
            return data if len(data) == size else read_fully(file, size, position)
        except OSError as error:
            raise from_os_error(self.path, f"read {size} bytes at {position}", error) from error

    def pread_into(self, buffer: memoryview, position: int) -> int:
        """Fill the buffer; return how many bytes there were, fewer only if the file ends before."""
        file = self._file or self._open()
        self.recently_used = True
        try:
            return read_fully_into(file, buffer, position)
        except OSError as error:
            raise from_os_error(self.path, f"read {len(buffer)} bytes at {position}", error) from error

    def size(self) -> int:
        """Return the bytes in the file."""
        try:
            return (self._file or self._open()).size()
        except OSError as error:
            raise from_os_error(self.path, "inspect", error) from error

    def truncate(self, size: int) -> None:
        """Truncate the file to `size` bytes."""
        try:
            (self._file or self._open()).truncate(size)
        except OSError as error:
            raise from_os_error(self.path, f"cut to {size} bytes", error) from error

    def set_modified_ms(self, modified_ms: int) -> None:
        """Set the time of the last change, ms since the epoch."""
        try:
            (self._file or self._open()).set_modified_ms(modified_ms)
        except OSError as error:
            raise from_os_error(self.path, "set the time of the last change", error) from error

    def sync(self) -> None:
        """Make the content durable; a failure takes the directory offline."""
        file = self._file or self._open()
        try:
            sync_file(file, self.path)
        except SyncFailed as failure:
            self.directory.disk.go_offline(str(failure))
            raise

    def rename(self, name: str) -> None:
        """Rename the file within its directory."""
        self.directory.rename(self.name, name)
        self.name = name

    def remove(self) -> None:
        """Remove the file permanently: reading a slice of it then raises FileRemoved."""
        self.close()
        self._is_removed = True
        self.directory.remove(self.name)

    def close(self) -> None:
        """Close the descriptor; the file is reopened when used."""
        self.directory.disk.descriptors.discard(self)
        self._release()

    def evict(self) -> bool:
        """Release the descriptor; one that is being synced elsewhere is closed after that."""
        self._release()
        return True

    def pin(self) -> File:
        """Return the open file, which stays open until it is unpinned."""
        file = self._file or self._open()
        self._pinned.append(file)
        return file

    def unpin(self, file: File) -> None:
        """Undo one pin."""
        self._pinned.remove(file)
        if file is not self._file and file not in self._pinned:
            close_quietly(file)

    def _release(self) -> None:
        file, self._file = self._file, None
        if file is not None and file not in self._pinned:
            close_quietly(file)

    def _open(self) -> File:
        disk = self.directory.disk
        disk.check_online()
        if self._is_removed:
            raise FileRemoved(self.path, "was removed")
        try:
            file = disk.files.open(self.path)
        except OSError as error:
            raise from_os_error(self.path, "open", error) from error
        self._file = file
        disk.descriptors.admit(self)
        return file


class FileSlice:
    """A range of a file that is read later, piece by piece: a fetch response that is not held in memory."""

    __slots__ = ("file", "position", "size")

    def __init__(self, file: DiskFile, position: int, size: int) -> None:
        self.file = file
        self.position = position
        self.size = size

    def __len__(self) -> int:
        return self.size

    def read(self, position_in_slice: int, size: int) -> bytes:
        """Return up to `size` bytes of the slice. FileRemoved if the file was removed meanwhile."""
        if size > self.size - position_in_slice:
            size = self.size - position_in_slice
        return self.file.pread(size, self.position + position_in_slice)

    def read_into(self, buffer: memoryview, position_in_slice: int) -> int:
        """Fill the buffer, which is no larger than the rest of the slice; return how many bytes there were.

        Fewer than it holds only if the file has become shorter. FileRemoved if the file was removed meanwhile.
        """
        assert len(buffer) <= self.size - position_in_slice
        return self.file.pread_into(buffer, self.position + position_in_slice)

    def read_all(self) -> bytes:
        """Return the whole slice."""
        return self.file.pread(self.size, self.position)
