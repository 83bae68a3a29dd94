"""A file system of the nodes in memory: what each of the kernel's requests does to them.

Knows nodes and requests, neither the device nor what a power cut leaves (tests/support/files/memory_survival.py).
Before each change `before_change` is called with what it is; it may raise, and then the change is not made.

Nodes have numbers as long as the kernel may know them: until the next mount, which begins with new ones.
"""

import errno
import os
import time
from collections.abc import Callable
from itertools import count

from tests.support.files.memory_nodes import Folder, Inode
from tests.support.lossy import messages
from tests.support.lossy.messages import Opcode, Request

Node = Inode | Folder
_BLOCKS = 1 << 28
_NAME_BYTES_MAX = 255


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


class FileSystem:
    """One mount of `root`. `is_journaled`: a sync of anything makes all names safe, as journals of real ones do."""

    def __init__(self, root: Folder, before_change: Callable[[str], None], *, is_journaled: bool = False) -> None:
        self._root, self._before_change, self._is_journaled = root, before_change, is_journaled
        self._nodes: dict[int, Node] = {messages.ROOT_ID: root}
        self._ids: dict[Node, int] = {root: messages.ROOT_ID}
        self._numbers = count(messages.ROOT_ID + 1)
        self._listings: dict[int, list[tuple[str, bool]]] = {}
        self._does: dict[int, Callable[[Request], bytes]] = {
            Opcode.INIT: lambda request: messages.init_out(request.body),
            Opcode.LOOKUP: self._look_up,
            Opcode.GETATTR: lambda request: messages.attr_out(self._attributes(self._nodes[request.node_id])),
            Opcode.SETATTR: self._set_attributes,
            Opcode.MKNOD: lambda request: self._make(request, messages.MKNOD_IN.size, Inode()),
            Opcode.MKDIR: lambda request: self._make(request, messages.MKDIR_IN.size, Folder()),
            Opcode.CREATE: self._create,
            Opcode.UNLINK: self._unlink,
            Opcode.RMDIR: self._rmdir,
            Opcode.RENAME: self._rename,
            Opcode.OPEN: lambda request: messages.open_out(),
            Opcode.READ: self._read,
            Opcode.WRITE: self._write,
            Opcode.FSYNC: self._sync,
            Opcode.STATFS: self._statfs,
            Opcode.OPENDIR: self._open_directory,
            Opcode.READDIR: self._read_directory,
            Opcode.RELEASEDIR: self._release_directory,
            Opcode.FSYNCDIR: self._sync_directory,
            **dict.fromkeys((Opcode.FLUSH, Opcode.RELEASE, Opcode.DESTROY), lambda request: b""),
        }

    def answer(self, request: Request) -> bytes | None:
        """Execute a request; None where the kernel waits for no answer."""
        if request.opcode in messages.UNANSWERED:
            return None
        does = self._does.get(request.opcode)
        if does is None:
            return messages.answer(request, error=errno.ENOSYS)
        try:
            return messages.answer(request, does(request))
        except OSError as problem:
            return messages.answer(request, error=problem.errno or errno.EIO)

    # --- names ---

    def _folder(self, node_id: int) -> Folder:
        found = self._nodes[node_id]
        if not isinstance(found, Folder):
            raise _error(errno.ENOTDIR)
        return found

    def _entry(self, node: Node) -> bytes:
        number = self._ids.get(node)
        if number is None:
            number = self._ids[node] = next(self._numbers)
            self._nodes[number] = node
        return messages.entry_out(number, self._attributes(node))

    def _named(self, folder: Folder, name: str) -> Node:
        if name not in folder.names:
            raise _error(errno.ENOENT)
        return folder.names[name]

    def _look_up(self, request: Request) -> bytes:
        return self._entry(self._named(self._folder(request.node_id), messages.name_in(request.body)))

    def _make(self, request: Request, skip: int, node: Node) -> bytes:
        folder, name = self._folder(request.node_id), messages.name_in(request.body, skip)
        if name in folder.names:
            raise _error(errno.EEXIST)
        self._before_change(f"create {name}")
        if isinstance(node, Inode):
            node.modified_ms = _now_ms()
        folder.change(lambda names: names.__setitem__(name, node))
        return self._entry(node)

    def _create(self, request: Request) -> bytes:
        return self._make(request, messages.CREATE_IN.size, Inode()) + messages.open_out()

    def _unlink(self, request: Request) -> bytes:
        folder, name = self._folder(request.node_id), messages.name_in(request.body)
        if isinstance(self._named(folder, name), Folder):
            raise _error(errno.EISDIR)
        self._before_change(f"remove {name}")
        folder.change(lambda names: names.pop(name, None))
        return b""

    def _rmdir(self, request: Request) -> bytes:
        folder, name = self._folder(request.node_id), messages.name_in(request.body)
        found = self._named(folder, name)
        if not isinstance(found, Folder):
            raise _error(errno.ENOTDIR)
        if found.names:
            raise _error(errno.ENOTEMPTY)
        self._before_change(f"rmdir {name}")
        folder.change(lambda names: names.pop(name, None))
        return b""

    def _rename(self, request: Request) -> bytes:
        (target_id,) = messages.RENAME_IN.unpack_from(request.body)
        name, target_name = messages.two_names_in(request.body, messages.RENAME_IN.size)
        folder = self._folder(request.node_id)
        if self._folder(target_id) is not folder:
            raise _error(errno.EXDEV)  # nothing is ever moved between directories
        node, replaced = self._named(folder, name), folder.names.get(target_name)
        if isinstance(replaced, Folder) and replaced.names:
            raise _error(errno.ENOTEMPTY)
        self._before_change(f"rename {name} to {target_name}")

        def move(names: dict[str, Node]) -> None:
            names.pop(name, None)
            names[target_name] = node

        folder.change(move)
        return b""

    def _sync_directory(self, request: Request) -> bytes:
        folder = self._folder(request.node_id)
        self._before_change("sync of a directory")
        self._names_are_safe(folder)
        return b""

    def _names_are_safe(self, folder: Folder) -> None:
        for each in _folders(self._root) if self._is_journaled else [folder]:
            each.safe = dict(each.names)
            each.changes.clear()

    # --- directories ---

    def _open_directory(self, request: Request) -> bytes:
        handle = next(self._numbers)
        self._listings[handle] = []
        return messages.open_out(handle)

    def _read_directory(self, request: Request) -> bytes:
        handle, start, size, *_ = messages.READ_IN.unpack_from(request.body)
        if start == 0:
            names = self._folder(request.node_id).names
            self._listings[handle] = [(name, isinstance(node, Folder)) for name, node in names.items()]
        found = b""
        for number, (name, is_directory) in enumerate(self._listings[handle][start:], start + 1):
            entry = messages.dirent(number, name, is_directory=is_directory)
            if len(found) + len(entry) > size:
                break
            found += entry
        return found

    def _release_directory(self, request: Request) -> bytes:
        handle, *_ = messages.OPEN_OUT.unpack_from(request.body)
        del self._listings[handle]
        return b""

    # --- files ---

    def _file(self, node_id: int) -> Inode:
        found = self._nodes[node_id]
        if not isinstance(found, Inode):
            raise _error(errno.EISDIR)
        return found

    def _attributes(self, node: Node) -> bytes:
        number = self._ids[node]
        if isinstance(node, Folder):
            return messages.attributes(number, 0, 0, is_directory=True)
        return messages.attributes(number, len(node.data), node.modified_ms, is_directory=False)

    def _set_attributes(self, request: Request) -> bytes:
        """A size and a time; owners and permissions are not stored."""
        given = messages.SETATTR_IN.unpack_from(request.body)
        sets, size, modified_s, modified_ns = given[0], given[3], given[6], given[9]
        node = self._nodes[request.node_id]
        if sets & messages.SETS_SIZE:
            file = self._file(request.node_id)
            self._before_change("truncate")
            self._change(file, size)
        if sets & messages.SETS_MTIME and isinstance(node, Inode):
            given_ms = modified_s * 1000 + modified_ns // 1_000_000
            node.modified_ms = _now_ms() if sets & messages.SETS_MTIME_NOW else given_ms
        return messages.attr_out(self._attributes(node))

    def _read(self, request: Request) -> bytes:
        _, position, size, *_ = messages.READ_IN.unpack_from(request.body)
        return bytes(self._file(request.node_id).data[position : position + size])

    def _write(self, request: Request) -> bytes:
        _, position, size, *_ = messages.WRITE_IN.unpack_from(request.body)
        file = self._file(request.node_id)
        self._before_change("write")
        written = request.body[messages.WRITE_IN.size : messages.WRITE_IN.size + size]
        self._change(file, (position, written))
        return messages.WRITE_OUT.pack(size, 0)

    def _change(self, file: Inode, change: tuple[int, bytes] | int) -> None:
        file.change(file.data, change)
        file.changes.append(change)
        file.modified_ms = _now_ms()

    def _sync(self, request: Request) -> bytes:
        file = self._file(request.node_id)
        self._before_change("sync of a file")
        file.sync()
        if self._is_journaled:
            self._names_are_safe(self._root)
        return b""

    def _statfs(self, request: Request) -> bytes:
        free = _BLOCKS - self._root.bytes_below() // messages.PAGE_BYTES
        size = messages.PAGE_BYTES
        return messages.STATFS_OUT.pack(_BLOCKS, free, free, _BLOCKS, _BLOCKS, size, _NAME_BYTES_MAX, size, 0)


def _folders(folder: Folder) -> list[Folder]:
    below = [node for node in folder.names.values() if isinstance(node, Folder)]
    return [folder, *(each for inner in below for each in _folders(inner))]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
