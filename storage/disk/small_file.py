"""A small file that is replaced as a whole, at once or by a job in another thread: the newest content wins.

Knows versions and bytes, not their meaning. The owner counts on its thread every change of the intended content
(`changed`) and takes a `Replacement` with the content of that version, which any thread may run.

Theory of operation: content is written to a temporary file, synced without blocking others, and renamed to the final
name. Only taking the temporary name and renaming exclude each other; both check whether the replacement is still
wanted. One queue that writes in order, or a lock around the whole write, would make the event loop wait for another
thread's sync in the middle of a decision. Each writer creates a new file under the temporary name, so two never write
into one. A writer whose file was replaced by another's writes once more while holding the lock, unless the other wrote
a newer version.

Invariants: a version is never replaced by an older one; nothing is created or renamed once the file is given up, even
if its directory was renamed and another has its name; a version counts as durable only once its directory was synced.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Lock
from typing import NamedTuple

from barnabas.protocol.files.names import TEMPORARY_SUFFIX
from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.files import File
from barnabas.storage.disk.full_io import write_whole
from barnabas.storage.errors import SyncFailed


class SmallFile:
    """One file of one owner. All but `Replacement.run` is called on the owner's thread."""

    def __init__(self, directory: Directory, name: str) -> None:
        self.directory = directory
        self.name = name
        self.version = 0  # of the intended content
        self.durable_version = 0  # of the content after a power cut, or a newer one
        self._placed_version = 0  # of the file's content
        self._is_given_up = False
        self._writer: File | None = None  # the file that has the temporary name
        self._lock = Lock()  # of the three above and both names; only a writer that lost its name syncs under it

    @property
    def is_dirty(self) -> bool:
        """Whether a power cut could leave the file without the intended content."""
        return self.version != self.durable_version

    def changed(self) -> None:
        """Count a change of the intended content."""
        self.version += 1

    def replacement(self, data: bytes) -> Replacement:
        """Return a step of a SyncJob that replaces the content by `data`, the intended content now."""
        return Replacement(self, self.version, data)

    def write(self, data: bytes) -> None:
        """Replace the content at once. Durable on return; after a crash at any point it is the old or the new content.

        Nothing is done after `give_up`.
        """
        if self._is_given_up:
            return
        disk = self.directory.disk
        disk.check_online()
        replacement = self.replacement(data)
        self.directory.changes += 1
        try:
            replacement.run()
        except SyncFailed as failure:
            disk.go_offline(str(failure))
            raise
        self.directory.sync()
        replacement.finish()

    def give_up(self) -> None:
        """Stop all replacements: before the directory is renamed, or another object owns the file."""
        with self._lock:
            self._is_given_up = True

    # --- used by a replacement, in any thread ---

    def place(self, version: int, data: bytes) -> None:
        """Replace the content unless `version` is not wanted any more. The name is not yet durable. StorageError."""
        try:
            if (file := self._begin(version)) is None:
                return
            write_whole(file, self._temporary, data)
            if not self._end(version, file):
                with self._lock:  # once more, with the lock held: otherwise two writers could repeat this forever
                    if (file := self._begin_locked(version)) is not None:
                        write_whole(file, self._temporary, data)
                        self._rename(version)
        except OSError as error:
            raise self.directory.disk.failure(self._path, "write", error) from error

    def _begin(self, version: int) -> File | None:
        """Create a new file under the temporary name; None if `version` is not wanted."""
        with self._lock:
            return self._begin_locked(version)

    def _begin_locked(self, version: int) -> File | None:
        files = self.directory.disk.files
        if not self._is_wanted(version):
            return None
        with suppress(FileNotFoundError):
            files.remove(self._temporary)  # a crash left it, or another writer uses it
        self._writer = files.open(self._temporary, create=True)
        return self._writer

    def _end(self, version: int, file: File) -> bool:
        """Rename the temporary file to the final name. False if another writer has it and `version` is still wanted."""
        with self._lock:
            if not self._is_wanted(version):
                return True
            if self._writer is not file:
                return False
            self._rename(version)
            return True

    def _rename(self, version: int) -> None:
        self.directory.disk.files.rename(self._temporary, self._path)
        self._placed_version, self._writer = version, None

    def _is_wanted(self, version: int) -> bool:
        return version > self._placed_version and not self._is_given_up

    @property
    def _path(self) -> str:
        return self.directory.path_of(self.name)

    @property
    def _temporary(self) -> str:
        return self._path + TEMPORARY_SUFFIX


class Replacement(NamedTuple):
    """The intended content of a small file at one moment. `run` it in any thread, then sync the directory."""

    file: SmallFile
    version: int
    data: bytes

    def run(self) -> None:
        """Write it, unless newer content is there or `give_up` was called. StorageError."""
        self.file.place(self.version, self.data)

    def finish(self) -> None:
        """Mark the version as durable after `run` and a sync of the directory."""
        self.file.durable_version = max(self.file.durable_version, self.version)
