"""Files and names that are made durable together, off the thread that owns the disk. Does not know their content."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.disk_file import DiskFile
from barnabas.storage.disk.files import CommonSync, File
from barnabas.storage.disk.full_io import remove_file, sync_all, sync_directory, sync_file, sync_path
from barnabas.storage.disk.small_file import Replacement
from barnabas.storage.errors import StorageError, SyncFailed


class SyncJob:
    """Files, names and small files to make durable together, off the thread that owns the disk.

    Created and ended on the owner's thread (`finish` or `failed`, exactly one), run in any thread in between. `run`
    makes at least the content durable that existed when the job was created. Small files are written after the files
    they may refer to, names come last; a small file that was rewritten meanwhile, or given up, is not changed. A path
    that is gone by then needs no sync: its segment was deleted.
    """

    __slots__ = ("_directories", "_disk", "_paths", "_pinned", "_replacements")

    def __init__(
        self,
        disk: Disk,
        files: Sequence[DiskFile] = (),
        paths: Sequence[str] = (),
        directories: Sequence[Directory] = (),
        replacements: Sequence[Replacement] = (),
    ) -> None:
        disk.check_online()
        self._disk = disk
        self._paths = paths
        self._replacements = replacements
        self._directories: list[tuple[Directory, str, int]] = []
        if directories or replacements:
            self._directories = _named([*directories, *(each.file.directory for each in replacements)])
        self._pinned: list[tuple[DiskFile, File]] = []
        try:
            for file in files:
                self._pinned.append((file, file.pin()))
        except StorageError:
            self._unpin()
            raise

    @property
    def syncs(self) -> int:
        """The number of syncs, without those of small files."""
        return len(self._pinned) + len(self._paths) + len(self._directories)

    @property
    def can_share(self) -> bool:
        """Whether it may be part of `run_together`: it writes no small files, and has a file open.

        Also requires the disk's common sync, which is absent where each file must be synced separately.
        """
        return not self._replacements and bool(self._pinned) and self._disk.common_sync is not None

    def run(self) -> None:
        """Sync everything. StorageError at the first failure; the caller then passes it to `failed`."""
        disk = self._disk
        for disk_file, file in self._pinned:
            disk.check_online()
            sync_file(file, disk_file.path)
        for path in self._paths:
            disk.check_online()
            sync_path(disk.files, path)
        for replacement in self._replacements:
            disk.check_online()
            replacement.run()
        for _, path, _ in self._directories:
            disk.check_online()
            sync_directory(disk.files, path)

    def run_here(self) -> None:
        """Run and end the job, on the owner's thread."""
        try:
            self.run()
        except StorageError as error:
            self.failed(error)
            raise
        self.finish()

    def finish(self) -> None:
        """End the job after a successful run."""
        self._unpin()
        for directory, _, changes in self._directories:
            directory.changes_synced = max(directory.changes_synced, changes)
        for replacement in self._replacements:
            replacement.finish()

    def failed(self, error: StorageError) -> None:
        """End the job after a run that raised: if a sync failed, the directory goes offline."""
        self._unpin()
        for replacement in self._replacements:
            replacement.file.directory.changes += 1  # perhaps
        if isinstance(error, SyncFailed):
            self._disk.go_offline(str(error))

    def _unpin(self) -> None:
        for disk_file, file in self._pinned:
            disk_file.unpin(file)
        self._pinned = []


class RemovalJob(SyncJob):
    """Files of a directory to remove, durably: freeing the space of a large file takes long."""

    __slots__ = ("_names", "_removed_in")

    def __init__(self, directory: Directory, names: Sequence[str]) -> None:
        super().__init__(directory.disk, directories=[directory])
        self._removed_in = directory
        self._names = names

    def run(self) -> None:
        for name in self._names:
            self._disk.check_online()
            remove_file(self._disk.files, self._removed_in.path_of(name))
        super().run()

    def failed(self, error: StorageError) -> None:
        self._removed_in.changes += 1  # perhaps
        super().failed(error)


def run_together(jobs: Sequence[SyncJob], common_sync: CommonSync) -> None:
    """Run jobs of one disk that can share, by one sync for all. StorageError: pass it to `failed` of each."""
    disk = jobs[0]._disk
    files: list[File] = []
    paths: list[str] = []
    for job in jobs:
        assert job.can_share, "a small file is renamed only after a sync of its own"
        files += [file for _, file in job._pinned]
        paths += job._paths
        paths += [path for _, path, _ in job._directories]
    disk.check_online()
    sync_all(common_sync, files, paths, disk.path)


def _named(directories: Iterable[Directory]) -> list[tuple[Directory, str, int]]:
    """Return the directories to sync, each once, with the changes that are durable then."""
    named = dict.fromkeys(directories)
    for directory in list(named):
        if directory.parent is not None and directory.parent.is_dirty:
            named[directory.parent] = None  # else a power cut could remove the directory with all files in it
    return [(directory, directory.path, directory.changes) for directory in named]
