"""What is made durable together, off the thread that owns the disk. Knows files and names, not what is in them."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.disk_file import DiskFile
from barnabas.storage.disk.files import File
from barnabas.storage.disk.full_io import sync_directory, sync_file, sync_path
from barnabas.storage.disk.small_file import Replacement
from barnabas.storage.errors import StorageError, SyncFailed


class SyncJob:
    """Files, names and small files to make durable together, off the thread that owns the disk.

    Made and ended on the owner's thread (`finish` or `failed`, exactly one), run anywhere in between. What `run` makes
    durable is at least what was there when the job was made. Small files are written first, names come last; a small
    file that was written anew meanwhile, or given up, is left as it is. A path that is gone by then needs no sync: its
    segment was deleted.
    """

    def __init__(
        self,
        disk: Disk,
        files: Iterable[DiskFile] = (),
        paths: Iterable[str] = (),
        directories: Iterable[Directory] = (),
        replacements: Iterable[Replacement] = (),
    ) -> None:
        disk.check_online()
        self._disk = disk
        self._paths = list(paths)
        self._replacements = list(replacements)
        named = dict.fromkeys([*directories, *(each.file.directory for each in self._replacements)])
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
        for replacement in self._replacements:
            disk.check_online()
            replacement.run()
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
        for replacement in self._replacements:
            replacement.finish()

    def failed(self, error: StorageError) -> None:
        """After a run that raised: if it was a sync, the directory goes offline."""
        self._unpin()
        for replacement in self._replacements:
            replacement.file.directory.changes += 1  # perhaps
        if isinstance(error, SyncFailed):
            self._disk.go_offline(str(error))

    def _unpin(self) -> None:
        for disk_file, file, _ in self._pinned:
            disk_file.unpin(file)
        self._pinned = []
