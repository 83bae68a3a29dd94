"""A directory of the data directory, or the data directory itself, and the names in it.

Knows names and bytes; knows no format and no partition. It counts its changes, so that it is synced when names changed
and only then: a name is durable once its directory is synced; syncing the file does not make it so.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from barnabas.protocol.files.names import FileState
from barnabas.storage.disk.disk import Disk
from barnabas.storage.disk.disk_file import DiskFile
from barnabas.storage.disk.files import Buffer, Entry, File, FileStat, Volume
from barnabas.storage.disk.full_io import (
    close_quietly,
    read_fully,
    remove_directory,
    remove_file,
    replace_file,
    sync_directory,
    write_fully,
)
from barnabas.storage.errors import FileRemoved, StorageError, SyncFailed, from_os_error


class Directory:
    """A directory and the names in it. `path` is updated when the directory is renamed."""

    def __init__(self, disk: Disk, path: str, parent: Directory | None = None) -> None:
        self.disk = disk
        self.path = path
        self.parent = parent
        self.changes = 0  # names created, renamed or removed by this process
        self.changes_synced = 0

    @property
    def is_dirty(self) -> bool:
        """Whether a power cut could undo a change of a name in it, or remove the directory itself."""
        return self.changes != self.changes_synced or (self.parent is not None and self.parent.is_dirty)

    def path_of(self, name: str) -> str:
        """Return the path of a name in this directory."""
        return f"{self.path}/{name}"

    def subdirectory(self, name: str) -> Directory:
        """Return a directory in this one, which need not exist yet."""
        return Directory(self.disk, self.path_of(name), self)

    def create(self) -> None:
        """Create the directory; its parent exists. Nothing happens if it exists."""
        self.disk.check_online()
        try:
            self.disk.files.mkdir(self.path)
        except FileExistsError:
            return
        except OSError as error:
            raise self.disk.failure(self.path, "create the directory", error) from error
        if self.parent is not None:
            self.parent.changes += 1

    def entries(self) -> list[Entry]:
        """Return all entries of the directory, in no order."""
        self.disk.check_online()
        try:
            return self.disk.files.entries(self.path)
        except OSError as error:
            raise from_os_error(self.path, "list the directory", error) from error

    def volume(self) -> Volume:
        """Return the space of the file system it is on."""
        self.disk.check_online()
        try:
            return self.disk.files.volume(self.path)
        except OSError as error:
            raise from_os_error(self.path, "read the free space of the volume of", error) from error

    def names(self) -> list[str]:
        """Return the names of the files (not the directories) in it, sorted."""
        return sorted(entry.name for entry in self.entries() if not entry.is_directory)

    def exists(self, name: str) -> bool:
        """Return whether there is a file or directory of that name."""
        return self._stat(name) is not None

    def size(self, name: str) -> int:
        """Return the bytes in a file; FileRemoved if it does not exist."""
        found = self._stat(name)
        if found is None:
            raise FileRemoved(self.path_of(name), "does not exist")
        return found.size

    def modified_ms(self, name: str) -> int:
        """Return the time of a file's last change, ms since the epoch; FileRemoved if it does not exist."""
        found = self._stat(name)
        if found is None:
            raise FileRemoved(self.path_of(name), "does not exist")
        return found.modified_ms

    def open(self, name: str, *, create: bool = False) -> DiskFile:
        """Return a file for reading and writing; with `create` it exists afterwards, empty if it did not before."""
        self.disk.check_online()
        file = DiskFile(self, name)
        if create and self._stat(name) is None:
            self._create(name)
        return file

    def read(self, name: str) -> bytes | None:
        """Return the content of a (small) file, None if it does not exist."""
        return self._read(name, lambda file: read_fully(file, file.size(), 0))

    def read_last_entry(self, name: str, entry_size: int) -> bytes | None:
        """Return the last whole entry of a file of entries, empty if it has none, None if there is no file."""

        def last_entry(file: File) -> bytes:
            size = file.size() // entry_size * entry_size
            return read_fully(file, entry_size, size - entry_size) if size else b""

        return self._read(name, last_entry)

    def write(self, name: str, data: Buffer, position: int) -> None:
        """Write into a file that need not stay open, and truncate it after the written bytes.

        If that fails, a new file is removed: the caller does not know of it.
        """
        self.disk.check_online()
        is_new = self._stat(name) is None
        path = self.path_of(name)
        try:
            file = self.disk.files.open(path, create=True)
            try:
                write_fully(file, data, position)
                file.truncate(position + len(data))
            finally:
                close_quietly(file)
        except OSError as error:
            if is_new:
                with suppress(OSError):  # the first error is raised
                    self.disk.files.remove(path)
            raise self.disk.failure(path, "write", error) from error
        finally:
            self.changes += is_new

    def replace(self, name: str, data: bytes) -> None:
        """Replace a file's content atomically: after a crash it is the old or the new one. Not durable yet."""
        self.disk.check_online()
        try:
            replace_file(self.disk.files, self.path, name, data)
        except SyncFailed as failure:
            self.disk.go_offline(str(failure))
            raise
        except StorageError as failure:
            self.disk.note_full(failure)
            raise
        self.changes += 1

    def write_atomically(self, name: str, data: bytes) -> None:
        """Replace a file's content: after a crash at any point it is the old or the new one. Durable on return."""
        self.replace(name, data)
        self.sync()

    def rename(self, source: str, target: str) -> None:
        """Rename a file; a file at `target` is replaced. FileRemoved if there is no `source`."""
        self.disk.check_online()
        try:
            self.disk.files.rename(self.path_of(source), self.path_of(target))
        except OSError as error:
            raise self.disk.failure(self.path_of(source), f"rename to {target}", error) from error
        self.changes += 1

    def mark_deleted(self, name: str) -> str:
        """Rename a file to a `*.deleted` name that no other file has; return that name."""
        target, number = f"{name}{FileState.DELETED.value}", 0
        while self.exists(target):
            number += 1
            target = f"{name}.{number}{FileState.DELETED.value}"
        self.rename(name, target)
        return target

    def remove(self, name: str) -> None:
        """Remove a file; nothing happens if it does not exist."""
        self.disk.check_online()
        self.changes += remove_file(self.disk.files, self.path_of(name))

    def move_to(self, name: str) -> None:
        """Rename the directory itself within its parent; open files and slices of its files stay usable."""
        self.disk.check_online()
        assert self.parent is not None, "only a partition's directory is ever renamed"
        target = self.parent.path_of(name)
        try:
            self.disk.files.rename(self.path, target)
        except OSError as error:
            raise self.disk.failure(self.path, f"rename to {name}", error) from error
        self.path = target
        self.parent.changes += 1

    def remove_tree(self) -> None:
        """Remove the directory with the files in it; nothing happens if it does not exist."""
        try:
            names = self.names()
        except FileRemoved:
            return
        for name in names:
            self.remove(name)
        remove_directory(self.disk.files, self.path)
        if self.parent is not None:
            self.parent.changes += 1

    def sync(self) -> None:
        """Make the names durable."""
        self.disk.check_online()
        changes = self.changes
        try:
            sync_directory(self.disk.files, self.path)
        except SyncFailed as failure:
            self.disk.go_offline(str(failure))
            raise
        self.changes_synced = max(changes, self.changes_synced)

    def _read(self, name: str, read: Callable[[File], bytes]) -> bytes | None:
        """Return the result of `read` on a file that need not stay open; None if it does not exist."""
        self.disk.check_online()
        path = self.path_of(name)
        try:
            file = self.disk.files.open(path, read_only=True)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise from_os_error(path, "open", error) from error
        try:
            return read(file)
        except OSError as error:
            raise from_os_error(path, "read", error) from error
        finally:
            close_quietly(file)

    def _create(self, name: str) -> None:
        path = self.path_of(name)
        try:
            self.disk.files.open(path, create=True).close()
        except OSError as error:
            raise self.disk.failure(path, "create", error) from error
        self.changes += 1

    def _stat(self, name: str) -> FileStat | None:
        self.disk.check_online()
        path = self.path_of(name)
        try:
            return self.disk.files.stat(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise from_os_error(path, "inspect", error) from error
