"""Files that count the bytes that are read and written through them: the progress of a job's steps."""

from __future__ import annotations

from barnabas.storage.disk.files import Buffer, CommonSync, Entry, File, Files, FileStat, Lock, Volume


class CountedFiles:
    """A file system that counts the bytes read and written through it."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.count = 0

    def taken(self) -> int:
        """Return the bytes since the last call."""
        count, self.count = self.count, 0
        return count

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        return _CountedFile(self._files.open(path, create=create, read_only=read_only), self)

    def stat(self, path: str) -> FileStat:
        return self._files.stat(path)

    def entries(self, path: str) -> list[Entry]:
        return self._files.entries(path)

    def volume(self, path: str) -> Volume:
        return self._files.volume(path)

    def mkdir(self, path: str) -> None:
        self._files.mkdir(path)

    def rename(self, source: str, target: str) -> None:
        self._files.rename(source, target)

    def remove(self, path: str) -> None:
        self._files.remove(path)

    def rmdir(self, path: str) -> None:
        self._files.rmdir(path)

    def sync_directory(self, path: str) -> None:
        self._files.sync_directory(path)

    def common_sync(self, path: str) -> CommonSync | None:
        return self._files.common_sync(path)

    def lock(self, path: str) -> Lock:
        return self._files.lock(path)


class _CountedFile:
    """An open file of CountedFiles."""

    __slots__ = ("_counted", "_file")

    def __init__(self, file: File, counted: CountedFiles) -> None:
        self._file = file
        self._counted = counted

    def pread(self, size: int, position: int, /) -> bytes:
        data = self._file.pread(size, position)
        self._counted.count += len(data)
        return data

    def pread_into(self, buffer: memoryview, position: int, /) -> int:
        count = self._file.pread_into(buffer, position)
        self._counted.count += count
        return count

    def pwrite(self, data: Buffer, position: int, /) -> int:
        count = self._file.pwrite(data, position)
        self._counted.count += count
        return count

    def size(self) -> int:
        return self._file.size()

    def truncate(self, size: int) -> None:
        self._file.truncate(size)

    def set_modified_ms(self, modified_ms: int) -> None:
        self._file.set_modified_ms(modified_ms)

    def sync(self) -> None:
        self._file.sync()

    def close(self) -> None:
        self._file.close()
