"""A file system in memory that a power cut can hit: what was not synced may be gone, contents and names alike.

It is as strict as POSIX lets a disk be. Bytes are safe once their file was synced; a name that was created, renamed or
removed is safe once its directory was synced; syncing the one does nothing for the other. After `crash` a seeded choice
of what was not safe survives: the first few changes of each file and of each directory, in the order they were made,
the last surviving write perhaps cut; with `torn=True` sectors of unsynced writes may read as zeros, as on a file system
that had stored a file's new size and not yet its data. "scattered" is stricter: of the changes of a file, or of a
directory, any survive, whatever became of those before, and of a write any bytes.

Calls of several threads come one after another, each as a whole, as those of an operating system do.

Any call can be made to fail (`fail`), the power can be cut before the n-th change (`cut_power_at`); `calls` lists all.
"""

import errno
import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, NamedTuple, Self

from barnabas.storage.disk.directory import Directory
from barnabas.storage.disk.disk import OPEN_FILES_MAX, Disk
from barnabas.storage.disk.files import Buffer, Entry, File, FileStat, Lock, LockHeld, Volume, copy_into
from tests.support.files.memory_common_sync import MemoryCommonSync
from tests.support.files.memory_lock import MemoryLock
from tests.support.files.memory_nodes import Folder, Inode
from tests.support.files.memory_survival import Fate, settle
from tests.support.files.memory_survival import Survival as Survival
from tests.support.files.one_at_a_time import one_at_a_time

VOLUME_BYTES = 1 << 40  # of a disk without a given capacity
CHANGING = frozenset({"create", "pwrite", "truncate", "sync", "mkdir", "rename", "remove", "rmdir", "sync_directory"})


class PowerCut(BaseException):
    """The machine stops here. Not an Exception, so that no code under test survives it."""


def is_lived_to_its_end(life: Iterable[object]) -> bool:
    """Go through a life; whether it came to its end before the power was cut."""
    try:
        for _ in life:
            pass
    except PowerCut:
        return False
    return True


class Call(NamedTuple):
    """A call made: its name as in Files and File (`create` for an open that makes a file), and the path."""

    name: str
    path: str


class _Rule:
    def __init__(self, name: str, error: int, path: str, skip: int, times: int | None, short: int | None) -> None:
        self.name, self.error, self.path = name, error, path
        self.skip, self.times, self.short = skip, times, short

    def strikes(self, call: Call) -> bool:
        """Whether this call is to fail; counts the matching ones."""
        if self.name not in ("any", call.name) or self.path not in call.path or self.times == 0:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


class MemoryFiles:
    """Files in memory. `now_ms` is the clock of modification times, `capacity` a limit of bytes in all files."""

    def __init__(self, seed: int = 0, *, now_ms: int = 0, capacity: int | None = None) -> None:
        self.random = random.Random(seed)
        self.now_ms = now_ms
        self.capacity = capacity
        self.calls: list[Call] = []
        self.changes_made = 0
        self.open_paths: Counter[str] = Counter()  # how often each file is open, under the path it was opened by
        self.turn = RLock()
        """Held by each call."""
        self._root = Folder()
        self._rules: list[_Rule] = []
        self._cut_at: int | None = None
        self._boots = 0
        self._locks: dict[str, int] = {}

    # --- what a test does to it ---

    def with_directory(self, path: str = "/d") -> Self:
        """Make a directory that no power cut takes away; returns these files."""
        self.mkdir(path)
        self.sync_directory("/")
        return self

    def directory(self, path: str = "/d", *, open_files_max: int = OPEN_FILES_MAX) -> Directory:
        """Open a directory as a process does that knows nothing of it."""
        return Directory(Disk(self, path, open_files_max=open_files_max), path)

    def put(self, path: str, data: bytes) -> None:
        """Replace the content of a file."""
        file = self.open(path, create=True)
        file.truncate(0)
        file.pwrite(data, 0)
        file.sync()
        file.close()

    @contextmanager
    def failing(self, name: str, error: int = errno.EIO, **which: Any) -> Iterator[None]:
        """As `fail`, for a while."""
        self.fail(name, error, **which)
        yield
        self.heal()

    def fail(
        self,
        name: str,
        error: int = errno.EIO,
        *,
        path: str = "",
        skip: int = 0,
        times: int | None = None,
        short: int | None = None,
    ) -> None:
        """Let calls fail: those called `name` ("any" for all) on paths that contain `path`.

        The first `skip` of them still work, then `times` fail (None: all). With `short`, a failing pwrite first takes
        that many bytes and returns that number, and only the next one fails.
        """
        self._rules.append(_Rule(name, error, path, skip, times, short))

    def heal(self) -> None:
        """Let everything work again."""
        self._rules.clear()
        self.capacity = None

    def cut_power_at(self, change: int | None) -> None:
        """Raise PowerCut instead of making the n-th change from the beginning (`changes_made` counts them)."""
        self._cut_at = change

    @one_at_a_time
    def crash(self, survival: Survival = "some", *, torn: bool = False) -> None:
        """Cut the power and start again: locks and open files are gone, and of what was not safe, what `survival` says.

        "everything" is what a killed process leaves: the page cache is still there.
        """
        self._boots += 1
        self._locks.clear()
        self.open_paths.clear()
        self._cut_at = None
        if survival != "everything":
            settle(self._root, Fate(self.random, survival, torn=torn))

    @property
    def boots(self) -> int:
        """How often it has crashed, and started again."""
        return self._boots

    @one_at_a_time
    def used(self) -> int:
        """Bytes in all files that have a name."""
        return self._root.bytes_below()

    @one_at_a_time
    def peek(self, path: str) -> bytes | None:
        """The content of a file, None if it does not exist: read from outside, not by a call that can fail."""
        folder, name = self._folder_of(path)
        found = folder.names.get(name)
        return bytes(found.data) if isinstance(found, Inode) else None

    @one_at_a_time
    def peek_names(self, path: str) -> list[str]:
        """What is in a folder, seen likewise."""
        return list(self._folder(path).names)

    @one_at_a_time
    def image(self) -> tuple[tuple[str, bytes], ...]:
        """The whole disk, seen likewise: after a crash, all that a start can know."""
        return tuple(self._root.files_below(""))

    # --- Files ---

    @one_at_a_time
    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        folder, name = self._folder_of(path)
        found = folder.names.get(name)
        self._call("create" if create and found is None else "open", path)
        if isinstance(found, Folder):
            raise IsADirectoryError(errno.EISDIR, "Is a directory", path)
        if found is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
            inode = found = Inode()
            inode.modified_ms = self.now_ms
            folder.change(lambda names: names.__setitem__(name, inode))
        return _MemoryFile(self, path, found, read_only)

    @one_at_a_time
    def stat(self, path: str) -> FileStat:
        self._call("stat", path)
        found = self._find(path)
        if isinstance(found, Folder):
            return FileStat(0, self.now_ms)
        return FileStat(len(found.data), found.modified_ms)

    @one_at_a_time
    def entries(self, path: str) -> list[Entry]:
        self._call("entries", path)
        return [Entry(name, isinstance(node, Folder)) for name, node in self._folder(path).names.items()]

    @one_at_a_time
    def volume(self, path: str) -> Volume:
        self._call("volume", path)
        self._find(path)
        total = VOLUME_BYTES if self.capacity is None else self.capacity
        return Volume(total, max(0, total - self.used()))

    @one_at_a_time
    def mkdir(self, path: str) -> None:
        self._call("mkdir", path)
        folder, name = self._folder_of(path)
        if name in folder.names:
            raise FileExistsError(errno.EEXIST, "File exists", path)
        made = Folder()
        folder.change(lambda names: names.__setitem__(name, made))

    @one_at_a_time
    def rename(self, source: str, target: str) -> None:
        self._call("rename", source)
        node = self._find(source)
        folder, name = self._folder_of(source)
        target_folder, target_name = self._folder_of(target)
        assert folder is target_folder, "nothing is ever moved between directories"
        if isinstance(folder.names.get(target_name), Folder):
            raise OSError(errno.ENOTEMPTY, "Directory not empty", target)

        def move(names: dict[str, Inode | Folder]) -> None:
            names.pop(name, None)
            names[target_name] = node

        folder.change(move)

    @one_at_a_time
    def remove(self, path: str) -> None:
        self._call("remove", path)
        if isinstance(self._find(path), Folder):
            raise IsADirectoryError(errno.EISDIR, "Is a directory", path)
        folder, name = self._folder_of(path)
        folder.change(lambda names: names.pop(name, None))

    @one_at_a_time
    def rmdir(self, path: str) -> None:
        self._call("rmdir", path)
        if self._folder(path).names:
            raise OSError(errno.ENOTEMPTY, "Directory not empty", path)
        folder, name = self._folder_of(path)
        folder.change(lambda names: names.pop(name, None))

    @one_at_a_time
    def sync_directory(self, path: str) -> None:
        self._call("sync_directory", path)
        folder = self._folder(path)
        folder.safe = dict(folder.names)
        folder.changes.clear()

    def common_sync(self, path: str) -> MemoryCommonSync:
        return MemoryCommonSync(self, path)

    @one_at_a_time
    def lock(self, path: str) -> Lock:
        self._call("lock", path)
        if path in self._locks:
            raise LockHeld(self._locks[path])
        self.open(path, create=True)
        self._locks[path] = os.getpid()
        return MemoryLock(self._locks, self.remove, path)

    # --- helpers ---

    def _call(self, name: str, path: str) -> _Rule | None:
        """Note a call. Raises what it has to fail with, or returns the rule by which it takes a few bytes first."""
        call = Call(name, path)
        self.calls.append(call)
        if name in CHANGING:
            if self._cut_at is not None and self.changes_made >= self._cut_at:
                raise PowerCut(f"before change {self._cut_at}: {name} {path}")
            self.changes_made += 1
        for rule in self._rules:
            if rule.strikes(call):
                if rule.short is not None and name == "pwrite":
                    return rule
                raise OSError(rule.error, os.strerror(rule.error), path)
        return None

    def _folder(self, path: str) -> Folder:
        node: Inode | Folder | None = self._root
        for part in path.split("/"):
            if part:
                node = node.names.get(part) if isinstance(node, Folder) else None
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        if isinstance(node, Inode):
            raise NotADirectoryError(errno.ENOTDIR, "Not a directory", path)
        return node

    def _folder_of(self, path: str) -> tuple[Folder, str]:
        parent, _, name = path.rpartition("/")
        return self._folder(parent), name

    def _find(self, path: str) -> Inode | Folder:
        folder, name = self._folder_of(path)
        if name not in folder.names:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        return folder.names[name]


class _MemoryFile:
    """An open file. Goes on working when its name is removed, as on any POSIX system; not over a crash."""

    def __init__(self, files: MemoryFiles, path: str, inode: Inode, read_only: bool) -> None:
        self._files, self._path, self._inode, self._read_only = files, path, inode, read_only
        self._boot = files._boots
        self.turn = files.turn
        self._is_open = True
        files.open_paths[path] += 1

    @one_at_a_time
    def pread(self, size: int, position: int, /) -> bytes:
        self._use("pread")
        return bytes(self._inode.data[position : position + size])

    def pread_into(self, buffer: memoryview, position: int, /) -> int:
        return copy_into(buffer, self.pread(len(buffer), position))

    @one_at_a_time
    def pwrite(self, data: Buffer, position: int, /) -> int:
        rule = self._use("pwrite", writes=True)
        taken = bytes(data)
        if rule is not None and rule.short is not None:
            taken, rule.short = taken[: rule.short], None
            if not taken:
                raise OSError(rule.error, os.strerror(rule.error), self._path)
        taken = taken[: self._room(position, len(taken))]
        if not taken and len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)
        self._change((position, taken))
        return len(taken)

    @one_at_a_time
    def size(self) -> int:
        self._use("size")
        return len(self._inode.data)

    @one_at_a_time
    def truncate(self, size: int) -> None:
        self._use("truncate", writes=True)
        self._change(size)

    @one_at_a_time
    def set_modified_ms(self, modified_ms: int) -> None:
        self._inode.modified_ms = modified_ms

    @one_at_a_time
    def sync(self) -> None:
        self._use("sync")
        self._inode.sync()

    @one_at_a_time
    def close(self) -> None:
        assert self._is_open, f"{self._path} is closed twice"
        self._is_open = False
        if self._boot == self._files._boots:
            self._files.open_paths[self._path] -= 1

    def _use(self, name: str, *, writes: bool = False) -> _Rule | None:
        assert self._is_open, f"{self._path} is closed"
        if self._boot != self._files._boots:
            raise OSError(errno.EBADF, "this descriptor did not survive the crash", self._path)
        if writes and self._read_only:
            raise OSError(errno.EBADF, "opened for reading", self._path)
        return self._files._call(name, self._path)

    def _change(self, change: tuple[int, bytes] | int) -> None:
        self._inode.change(self._inode.data, change)
        self._inode.changes.append(change)
        self._inode.modified_ms = self._files.now_ms

    def _room(self, position: int, size: int) -> int:
        """How many of `size` bytes at `position` fit under the capacity."""
        if self._files.capacity is None:
            return size
        growth = max(0, position + size - len(self._inode.data))
        free = max(0, self._files.capacity - self._files.used())
        return size - max(0, growth - free)
