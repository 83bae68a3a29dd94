"""The machine's files under a limit of bytes in all of them together, as on a small disk: then ENOSPC."""

import errno
import os

from barnabas.storage.disk.files import Buffer, Capabilities, CommonSync, File, RealFiles, Volume


class LimitedFiles(RealFiles):
    """For a directory that is new. A file counts until its name is removed."""

    def __init__(self, capacity: int) -> None:
        super().__init__(Capabilities())
        self.capacity = capacity
        self.used = 0

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        return _LimitedFile(self, super().open(path, create=create, read_only=read_only))

    def volume(self, path: str) -> Volume:
        return Volume(self.capacity, max(0, self.capacity - self.used))

    def rename(self, source: str, target: str) -> None:
        replaced = os.path.getsize(target) if os.path.isfile(target) else 0
        super().rename(source, target)
        self.used -= replaced

    def remove(self, path: str) -> None:
        size = os.path.getsize(path)
        super().remove(path)
        self.used -= size

    def common_sync(self, path: str) -> CommonSync | None:
        return None


class _LimitedFile:
    """An open file, which takes what there is room for."""

    def __init__(self, files: LimitedFiles, file: File) -> None:
        self._files, self._file = files, file
        self.pread = file.pread
        self.pread_into = file.pread_into
        self.size = file.size
        self.set_modified_ms = file.set_modified_ms
        self.sync = file.sync
        self.close = file.close

    def pwrite(self, data: Buffer, position: int, /) -> int:
        before = self._file.size()
        room = max(0, self._files.capacity - self._files.used)
        taken = min(len(data), max(0, before - position) + room)
        if data and not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._file.pwrite(memoryview(data)[:taken], position)
        self._files.used += self._file.size() - before
        return written

    def truncate(self, size: int) -> None:
        self._files.used += size - self._file.size()
        self._file.truncate(size)
