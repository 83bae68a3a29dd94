"""What the files of a log tell about it without opening it."""

from __future__ import annotations

from contextlib import suppress

from barnabas.protocol.files import names
from barnabas.storage.disk.directory import Directory
from barnabas.storage.errors import FileRemoved


def size_of_segments(directory: Directory) -> int:
    """Bytes in the segments, without their indexes. StorageError if the directory cannot be listed."""
    size = 0
    for name in directory.names():
        if name.endswith(names.FileKind.LOG.value):
            with suppress(FileRemoved):  # by somebody else: nothing of ours runs in between
                size += directory.size(name)
    return size


def base_offsets(directory: Directory) -> list[int]:
    """Where the segments begin, in no order. StorageError as above."""
    found = [each for each in map(names.parse_segment_file, directory.names()) if each is not None]
    live = [each for each in found if each.state is names.FileState.LIVE]
    return [each.base_offset for each in live if each.kind is names.FileKind.LOG]
