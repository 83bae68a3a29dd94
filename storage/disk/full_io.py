# compiled: mypyc
"""Complete reads, writes, syncs and removals of files: a call does all of it, or raises.

Thread-safe: nothing here knows the disk's health. A failed sync is SyncFailed; the caller passes it to Disk.go_offline.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from barnabas.protocol.files.names import TEMPORARY_SUFFIX
from barnabas.storage.disk.files import Buffer, CommonSync, File, Files
from barnabas.storage.errors import SyncFailed, from_os_error


def sync_file(file: File, path: str) -> None:
    """Make an open file's content durable."""
    try:
        file.sync()
    except OSError as error:
        raise _sync_failed(path, error) from error


def sync_path(files: Files, path: str) -> None:
    """Make a file's content durable; a missing file is skipped."""
    try:
        file = files.open(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise from_os_error(path, "open", error) from error
    try:
        sync_file(file, path)
    finally:
        close_quietly(file)


def sync_directory(files: Files, path: str) -> None:
    """Make the names in a directory durable; a missing directory is skipped."""
    try:
        files.sync_directory(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _sync_failed(path, error) from error


def sync_all(common_sync: CommonSync, files: Sequence[File], paths: Sequence[str], root: str) -> None:
    """Make open files, and files and directories by their paths, all below `root`, durable in one call."""
    try:
        common_sync.sync(files, paths)
    except OSError as error:
        raise _sync_failed(root, error) from error


def replace_file(files: Files, directory: str, name: str, data: bytes) -> None:
    """Replace a file's content in one step: a temporary file, synced, then renamed. The name is not yet durable."""
    path, temporary = f"{directory}/{name}", f"{directory}/{name}{TEMPORARY_SUFFIX}"
    try:
        file = files.open(temporary, create=True)
        write_whole(file, temporary, data)
        files.rename(temporary, path)
    except OSError as error:
        raise from_os_error(path, "write", error) from error


def write_whole(file: File, path: str, data: Buffer) -> None:
    """Make `data` the whole content of an open file, durably, and close it. SyncFailed, or another call's OSError."""
    try:
        file.truncate(0)  # a crash may have left more
        try:
            write_fully(file, data, 0)
        except OSError:
            with suppress(OSError):
                file.truncate(0)  # a partial file is useless, and takes space that may be needed
            raise
        sync_file(file, path)
    finally:
        close_quietly(file)


def write_fully(file: File, data: Buffer, position: int) -> None:
    """Write all of `data`; raises the OSError of the failed call."""
    rest = memoryview(data)
    while rest:
        written = file.pwrite(rest, position)
        if written <= 0:
            raise OSError(0, "the system wrote no bytes")
        rest, position = rest[written:], position + written


def read_fully(file: File, size: int, position: int) -> bytes:
    """Return `size` bytes, fewer only if the file ends before; raises the OSError of the failed call."""
    parts: list[bytes] = []
    while size > 0 and (part := file.pread(size, position)):
        parts.append(part)
        size, position = size - len(part), position + len(part)
    return b"".join(parts)


def read_fully_into(file: File, buffer: memoryview, position: int) -> int:
    """Fill the buffer; return how many bytes there were, fewer only if the file ends before. OSError of the call."""
    count = 0
    while count < len(buffer) and (part := file.pread_into(buffer[count:], position + count)):
        count += part
    return count


def remove_file(files: Files, path: str) -> bool:
    """Remove a file; return False if it does not exist."""
    try:
        files.remove(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise from_os_error(path, "remove", error) from error
    return True


def remove_directory(files: Files, path: str) -> None:
    """Remove an empty directory."""
    try:
        files.rmdir(path)
    except OSError as error:
        raise from_os_error(path, "remove the directory", error) from error


def close_quietly(file: File) -> None:
    """Close a file. An error is ignored: the descriptor is gone anyway, and only a sync makes data durable."""
    with suppress(OSError):  # nothing depends on it
        file.close()


def _sync_failed(path: str, error: OSError) -> SyncFailed:
    return SyncFailed(path, f"cannot sync: {error.strerror or error}", error.errno or 0)
