"""The real file system without changes: any operation that would change it fails as on a read-only mount."""

from __future__ import annotations

import errno
import os

from barnabas.storage.disk.files import File, Lock, RealFiles


class ReadOnlyFiles(RealFiles):
    """Files that can be listed, and opened with `read_only`."""

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        if not read_only:
            raise _read_only(path)
        return super().open(path, read_only=True)

    def mkdir(self, path: str) -> None:
        raise _read_only(path)

    def rename(self, source: str, target: str) -> None:
        raise _read_only(source)

    def remove(self, path: str) -> None:
        raise _read_only(path)

    def rmdir(self, path: str) -> None:
        raise _read_only(path)

    def sync_directory(self, path: str) -> None:
        raise _read_only(path)

    def lock(self, path: str) -> Lock:
        raise _read_only(path)


def _read_only(path: str) -> OSError:
    return OSError(errno.EROFS, os.strerror(errno.EROFS), path)
