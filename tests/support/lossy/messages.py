"""What the kernel asks a FUSE file system, and what it is answered: numbers and structures of `linux/fuse.h`.

Of protocol 7.31, as far as a file system of plain files and directories needs it. Knows no files and no device.
"""

import stat
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

MAJOR, MINOR = 7, 31
ROOT_ID = 1
PAGE_BYTES = 4096
MAX_PAGES = 256
MAX_WRITE = MAX_PAGES * PAGE_BYTES
REQUEST_BYTES_MAX = MAX_WRITE + PAGE_BYTES
_FOREVER_S = 3600
"""How long the kernel may keep a name and a size: nothing changes but through it."""
_ASYNC_READ, _BIG_WRITES, _PARALLEL_DIROPS, _MAX_PAGES = 1 << 0, 1 << 5, 1 << 18, 1 << 22
_WANTED = _ASYNC_READ | _BIG_WRITES | _PARALLEL_DIROPS | _MAX_PAGES
"""Without the write-back cache: each write(2) arrives here at once, writes to mapped pages when they are synced."""
_KEEP_CACHE = 1 << 1

IN_HEADER = Struct("=IIQQIIIHH")
OUT_HEADER = Struct("=IiQ")
INIT_IN = Struct("=IIII")
INIT_OUT = Struct("=IIIIHHIIHHI28x")
OPEN_OUT = Struct("=QII")
CREATE_IN = Struct("=IIII")
MKNOD_IN = Struct("=IIII")
MKDIR_IN = Struct("=II")
RENAME_IN = Struct("=Q")
READ_IN = WRITE_IN = Struct("=QQIIQII")
WRITE_OUT = Struct("=II")
SETATTR_IN = Struct("=IIQQQQQQIIIIIIII")
STATFS_OUT = Struct("=QQQQQIIII24x")
_ATTRIBUTES = Struct("=QQQQQQIIIIIIIIII")
_ENTRY = Struct("=QQQQII")
_ATTR_OUT = Struct("=QII")
_DIRENT = Struct("=QQII")

SETS_SIZE, SETS_MTIME, SETS_MTIME_NOW = 1 << 3, 1 << 5, 1 << 8


class Opcode(IntEnum):
    """The requests."""

    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    SETATTR = 4
    MKNOD = 8
    MKDIR = 9
    UNLINK = 10
    RMDIR = 11
    RENAME = 12
    OPEN = 14
    READ = 15
    WRITE = 16
    STATFS = 17
    RELEASE = 18
    FSYNC = 20
    FLUSH = 25
    INIT = 26
    OPENDIR = 27
    READDIR = 28
    RELEASEDIR = 29
    FSYNCDIR = 30
    CREATE = 35
    INTERRUPT = 36
    DESTROY = 38
    BATCH_FORGET = 42


UNANSWERED = frozenset({Opcode.FORGET, Opcode.BATCH_FORGET, Opcode.INTERRUPT})


class Request(NamedTuple):
    """One question."""

    opcode: int
    unique: int
    node_id: int
    body: bytes


def parsed(data: bytes) -> Request:
    """The request in what was read of the device."""
    _, opcode, unique, node_id, *_ = IN_HEADER.unpack_from(data)
    return Request(opcode, unique, node_id, data[IN_HEADER.size :])


def answer(request: Request, body: bytes = b"", *, error: int = 0) -> bytes:
    """What is written to the device; `error` is one of errno."""
    return OUT_HEADER.pack(OUT_HEADER.size + len(body), -error, request.unique) + body


def name_in(body: bytes, skip: int = 0) -> str:
    """The name that ends a request."""
    return body[skip:].rstrip(b"\0").decode()


def two_names_in(body: bytes, skip: int) -> tuple[str, str]:
    first, second, *_ = body[skip:].split(b"\0")
    return first.decode(), second.decode()


def init_out(body: bytes) -> bytes:
    """What the two agree on."""
    _, _, readahead, offered = INIT_IN.unpack_from(body)
    background = 16
    return INIT_OUT.pack(
        MAJOR, MINOR, readahead, offered & _WANTED, background, background, MAX_WRITE, 1, MAX_PAGES, 0, 0
    )


def attributes(node_id: int, size: int, modified_ms: int, *, is_directory: bool) -> bytes:
    """What stat(2) shows."""
    seconds, nanoseconds = modified_ms // 1000, modified_ms % 1000 * 1_000_000
    mode = stat.S_IFDIR | 0o755 if is_directory else stat.S_IFREG | 0o644
    times = (seconds,) * 3 + (nanoseconds,) * 3
    links = 2 if is_directory else 1
    return _ATTRIBUTES.pack(node_id, size, -(-size // 512), *times, mode, links, 0, 0, 0, PAGE_BYTES, 0)


def entry_out(node_id: int, attributes: bytes) -> bytes:
    """The answer to a look-up of a name."""
    return _ENTRY.pack(node_id, 0, _FOREVER_S, _FOREVER_S, 0, 0) + attributes


def attr_out(attributes: bytes) -> bytes:
    return _ATTR_OUT.pack(_FOREVER_S, 0, 0) + attributes


def open_out(handle: int = 0) -> bytes:
    return OPEN_OUT.pack(handle, _KEEP_CACHE, 0)


def dirent(number: int, name: str, *, is_directory: bool) -> bytes:
    """A name in a directory; `number` is where to continue after it."""
    encoded = name.encode()
    kind = (stat.S_IFDIR if is_directory else stat.S_IFREG) >> 12
    entry = _DIRENT.pack(number, number, len(encoded), kind) + encoded
    return entry + bytes(-len(entry) % 8)
