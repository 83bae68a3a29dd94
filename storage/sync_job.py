"""What is made durable together, off the thread that owns the disk. Knows files and names, not what is in them."""

from __future__ import annotations

from collections.abc import Iterable

from storage.directory import Directory
from storage.disk import Disk
from storage.disk_file import DiskFile
from storage.errors import StorageError, SyncFailed
from storage.files import File
from storage.whole_calls import replace_file, sync_directory, sync_file, sync_path


class SyncJob:
    """Files, names and small files to make durable together, off the thread that owns the disk.

    Made and ended on the owner's thread (`finish` or `failed`, exactly one), run anywhere in between. What `run` makes
    durable is at least what was there when the job was made. Small files are written first, names come last. A path
    that is gone by then needs no sync: its segment was deleted.
    """

    def __init__(
        self,
        disk: Disk,
        files: Iterable[DiskFile] = (),
        paths: Iterable[str] = (),
        directories: Iterable[Directory] = (),
        writes: Iterable[tuple[Directory, str, bytes]] = (),
    ) -> None:
        disk.check_online()
        writes = list(writes)
        self._disk = disk
        self._paths = list(paths)
        self._writes = [(directory.path, name, data) for directory, name, data in writes]
        self._written = [directory for directory, _, _ in writes]
        named = dict.fromkeys([*directories, *self._written])
        for directory in list(named):
            if directory.parent is not None and directory.parent.is_dirty:
                named[directory.parent] = None  # or a power cut takes the directory with all in it
        self._directories = [(directory, directory.path, directory.changes) for directory in named]
        self._pinned: list[tuple[DiskFile, File, str]] = []
        try:
            for file in files:
                self._pinned.append((file, file.pin(), file.path))
        except StorageError:
            self._unpin()
            raise

    def run(self) -> None:
        """Sync everything. StorageError at the first failure; the caller then passes it to `failed`."""
        disk = self._disk
        for path, name, data in self._writes:
            disk.check_online()
            replace_file(disk.files, path, name, data)
        for _, file, path in self._pinned:
            disk.check_online()
            sync_file(file, path)
        for path in self._paths:
            disk.check_online()
            sync_path(disk.files, path)
        for _, path, _ in self._directories:
            disk.check_online()
            sync_directory(disk.files, path)

    def run_here(self) -> None:
        """Run and end it, on the owner's thread."""
        try:
            self.run()
        except StorageError as error:
            self.failed(error)
            raise
        self.finish()

    def finish(self) -> None:
        """After a run that succeeded."""
        self._unpin()
        for directory, _, changes in self._directories:
            directory.changes_synced = max(directory.changes_synced, changes)

    def failed(self, error: StorageError) -> None:
        """After a run that raised: if it was a sync, the directory goes offline."""
        self._unpin()
        for directory in self._written:
            directory.changes += 1  # perhaps
        if isinstance(error, SyncFailed):
            self._disk.go_offline(str(error))

    def _unpin(self) -> None:
        for disk_file, file, _ in self._pinned:
            disk_file.unpin(file)
        self._pinned = []
