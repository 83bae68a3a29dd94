"""A small file that is replaced as a whole, at once or by a job in another thread: the newest content stays.

Knows versions and bytes; what they mean is its owner's. The owner counts on its thread every change of what the file
should say (`changed`) and takes a `Replacement` with the content of that version, which any thread may run.

Theory of operation: content is written to a temporary file, synced without holding anybody up, and renamed onto the
name. Only taking the temporary name and renaming exclude each other; there it is seen whether the replacement is still
wanted. Each writer begins a new file under the temporary name, so two never write into one. A writer whose file was
replaced by another's writes once more and holds the lock meanwhile, unless what the other put in place is newer.

Invariants: what is in place is never replaced by an older version; nothing is made or renamed once the file is given
up, even if its directory was renamed and another has its name; a version counts as durable only once its directory was
synced.
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
        self.version = 0  # of what the file should say
        self.durable_version = 0  # of what it says after a power cut, or a newer one
        self._placed_version = 0  # of what it says
        self._is_given_up = False
        self._writer: File | None = None  # the file that has the temporary name
        self._lock = Lock()  # of the three above and both names; only a writer that lost its name syncs under it

    @property
    def is_dirty(self) -> bool:
        """Whether a power cut could leave the file without what it should say."""
        return self.version != self.durable_version

    def changed(self) -> None:
        """The file should say something else from now on."""
        self.version += 1

    def replacement(self, data: bytes) -> Replacement:
        """Bring the file to `data`, which is what it should say now: a step of a SyncJob."""
        return Replacement(self, self.version, data)

    def write(self, data: bytes) -> None:
        """The same at once. Durable on return; after a crash at any point it is the old content or the new.

        Nothing is done once the file is given up.
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
        """Before the directory is renamed, or another owns the file: whatever has not come to an end does nothing."""
        with self._lock:
            self._is_given_up = True

    # --- a replacement's, in any thread ---

    def place(self, version: int, data: bytes) -> None:
        """Replace the content unless `version` is not wanted any more. The name is not yet durable. StorageError."""
        try:
            if (file := self._begin(version)) is None:
                return
            write_whole(file, self._temporary, data)
            if not self._end(version, file):
                with self._lock:  # once more, and let nobody else begin: or two could go on like this for ever
                    if (file := self._begin_locked(version)) is not None:
                        write_whole(file, self._temporary, data)
                        self._rename(version)
        except OSError as error:
            raise self.directory.disk.failure(self._path, "write", error) from error

    def _begin(self, version: int) -> File | None:
        """A new file under the temporary name; None if there is nothing to do."""
        with self._lock:
            return self._begin_locked(version)

    def _begin_locked(self, version: int) -> File | None:
        files = self.directory.disk.files
        if not self._is_wanted(version):
            return None
        with suppress(FileNotFoundError):
            files.remove(self._temporary)  # a crash left it, or somebody is at it
        self._writer = files.open(self._temporary, create=True)
        return self._writer

    def _end(self, version: int, file: File) -> bool:
        """Rename the temporary file onto the name. False if it is somebody else's, and this version is still wanted."""
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
    """What a small file should have said when this was made. `run` it in any thread, then sync the directory."""

    file: SmallFile
    version: int
    data: bytes

    def run(self) -> None:
        """Put it in place, unless newer content is there or the file was given up. StorageError."""
        self.file.place(self.version, self.data)

    def finish(self) -> None:
        """It ran, and the directory was synced."""
        self.file.durable_version = max(self.file.durable_version, self.version)
