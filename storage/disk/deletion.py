"""Files and directories that are out of use and are removed some time later, when no reader uses them any more.

Knows names and due times; the caller passes the time. Freeing the space of a large file takes a file system long, so
`removing` does that in any thread, while the owner's thread continues: a file that is renamed meanwhile counts as gone.
Files that are not removed when the process ends are found by their names (`*.deleted`, `*-delete`) at the next start.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import TypeAlias

from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.disk_file import DiskFile
from barnabas.storage.disk.full_io import remove_directory, remove_file
from barnabas.storage.disk.sync_job import SyncJob
from barnabas.storage.errors import StorageError, from_os_error

REMOVED_AT_A_TIME = 25
RETRY_MS = 60_000  # a file that cannot be removed now may be later

Removing: TypeAlias = Generator[Callable[[], None], None, None]
"""Yields functions to call before it continues, in any thread. A failure of the call is thrown in. StorageError."""


class _Doomed:
    """Files of a directory or, without names, the directory with its files. `begin` and `end` run in any thread."""

    __slots__ = ("before_last", "directory", "failure", "files", "has_failed", "names", "removed")

    def __init__(
        self,
        directory: Directory,
        names: list[str] | None,
        files: list[DiskFile],
        before_last: Callable[[], SyncJob | None] | None,
    ) -> None:
        self.directory = directory
        self.names = names
        self.files = files
        self.before_last = before_last
        self.has_failed = False  # before, and is retried later
        self.failure: StorageError | None = None  # of this attempt
        self.removed = 0

    def begin(self) -> None:
        """Remove all files but the last name."""
        if self.names is None:
            self._remove_files()
        else:
            for name in self.names[:-1]:
                self._remove(name)

    def end(self) -> None:
        """Remove the rest."""
        if self.names is not None:
            for name in self.names[-1:]:
                self._remove(name)
        elif self._remove_files():
            remove_directory(self._disk.files, self.directory.path)
            self.removed += 1

    def note(self) -> None:
        """Count the removed names, durable with the next sync. On the owner's thread."""
        directory = self.directory if self.names is not None else self.directory.parent
        if directory is not None:
            directory.changes += self.removed
        self.removed = 0

    @property
    def _disk(self) -> Disk:
        return self.directory.disk

    def _remove(self, name: str) -> None:
        self._disk.check_online()
        self.removed += remove_file(self._disk.files, self.directory.path_of(name))

    def _remove_files(self) -> bool:
        """Remove the files in the directory. Return False if the directory itself does not exist."""
        path = self.directory.path
        try:
            found = self._disk.files.entries(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise from_os_error(path, "list the directory", error) from error
        for name in sorted(entry.name for entry in found if not entry.is_directory):
            self._disk.check_online()
            remove_file(self._disk.files, f"{path}/{name}")
        return True


class Deletions:
    """The scheduled removals of one data directory."""

    def __init__(self) -> None:
        self._due: list[tuple[int, int, _Doomed]] = []
        self._count = 0  # orders entries that are due at the same time, which are never compared

    def __len__(self) -> int:
        return len(self._due)

    @property
    def next_due_ms(self) -> int | None:
        """The time at which the next removal is due, None without any."""
        return self._due[0][0] if self._due else None

    def schedule(
        self,
        due_ms: int,
        directory: Directory,
        names: Iterable[str] | None = None,
        files: Iterable[DiskFile] = (),
        before_last: Callable[[], SyncJob | None] | None = None,
    ) -> None:
        """Remove the files `names` of a directory at `due_ms`, or, without names, the directory and all in it.

        The directory may be renamed or removed meanwhile. `files` may still be read, and so be open, until then: they
        are closed first, since a removed file occupies disk space while it is open. `before_last` returns a job to make
        state durable that a start infers from the names, before the last of them (of a directory: its own) is removed.
        On StorageError that one stays, and most of the space is free.
        """
        self._add(due_ms, _Doomed(directory, None if names is None else list(names), list(files), before_last))

    def _add(self, due_ms: int, doomed: _Doomed) -> None:
        heapq.heappush(self._due, (due_ms, self._count, doomed))
        self._count += 1

    def hurry(self, now_ms: int) -> bool:
        """Make all removals due now, since space is needed; return whether any is due.

        A reader of a removed file gets FileRemoved. Failed removals wait for their retry.
        """
        if any(due_ms > now_ms and not doomed.has_failed for due_ms, _, doomed in self._due):
            self._due = [
                (due_ms if doomed.has_failed else min(due_ms, now_ms), count, doomed)
                for due_ms, count, doomed in self._due
            ]
            heapq.heapify(self._due)
        return bool(self._due) and self._due[0][0] <= now_ms

    def removing(self, now_ms: int) -> Removing:
        """Remove what is due, some at a time, including removals that are scheduled meanwhile.

        StorageError, at the end, if something could not be removed; it stays scheduled, and is due again in a minute.
        """
        failure: StorageError | None = None
        while self._due and self._due[0][0] <= now_ms:
            doomed: list[_Doomed] = []
            while self._due and self._due[0][0] <= now_ms and len(doomed) < REMOVED_AT_A_TIME:
                doomed.append(heapq.heappop(self._due)[2])
            try:
                yield from _removing(doomed)
            except StorageError as error:
                for each in doomed:
                    each.failure = each.failure or error
            for each in doomed:
                each.note()
                if each.failure is not None:
                    failure, each.failure, each.has_failed = failure or each.failure, None, True
                    self._add(now_ms + RETRY_MS, each)
        if failure is not None:
            raise failure


def _removing(doomed: list[_Doomed]) -> Removing:
    """Remove these. The failure of one is stored with it. StorageError: all have failed."""
    for each in doomed:
        for file in each.files:
            file.close()
    renamed_in = [each.directory if each.names is not None else each.directory.parent for each in doomed]
    unsynced = [found for found in dict.fromkeys(renamed_in) if found is not None and found.is_dirty]
    if unsynced:  # else a power cut could restore the name, of a directory or a segment with half of its files
        yield from _done(SyncJob(unsynced[0].disk, directories=unsynced))
    yield partial(_each, doomed, _Doomed.begin)
    for each in doomed:
        if each.failure is None and each.before_last is not None:
            try:
                job = each.before_last()
                if job is not None:
                    yield from _done(job)
            except StorageError as error:
                each.failure = error
    yield partial(_each, doomed, _Doomed.end)


def _each(doomed: list[_Doomed], remove: Callable[[_Doomed], None]) -> None:
    """Call `remove` for each that has not failed, in any thread."""
    for each in doomed:
        if each.failure is None:
            try:
                remove(each)
            except StorageError as error:
                each.failure = error


def _done(job: SyncJob) -> Removing:
    try:
        yield job.run
    except StorageError as error:
        job.failed(error)
        raise
    job.finish()
