"""Checks the root of a data directory: its properties, its checkpoints and their partitions. Reads no log."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from barnabas.logfiles.findings import Finding, FindingKind
from barnabas.logfiles.reading import DISK, Reading
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.files import meta_properties
from barnabas.protocol.files.checkpoints import decode_offsets
from barnabas.protocol.files.names import (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_CHECKPOINT,
    META_PROPERTIES,
    RECOVERY_POINT_CHECKPOINT,
    DirectoryState,
    parse_partition_directory,
    partition_directory,
)

_DECODERS: dict[str, Callable[[bytes], object]] = {
    META_PROPERTIES: meta_properties.decode,
    RECOVERY_POINT_CHECKPOINT: decode_offsets,
    LOG_START_CHECKPOINT: decode_offsets,
    HIGH_WATERMARK_CHECKPOINT: decode_offsets,
    CLEANER_CHECKPOINT: decode_offsets,
}


def check_root(path: str, reading: Reading = DISK) -> Iterator[Finding]:
    """Yield a finding for each file that cannot be read. A missing file has none: a broker writes it again."""
    for name, decode in _DECODERS.items():
        data = reading.content(os.path.join(path, name))
        try:
            if data is not None:
                decode(data)
        except DecodeError as error:
            yield Finding(FindingKind.DATA_DIRECTORY, os.path.join(path, name), None, None, str(error))


def check_directories(path: str, names: Iterable[str], reading: Reading = DISK) -> Iterator[Finding]:
    """Yield a finding for each partition that has synced records, and no directory among the `names` in the root.

    A partition that is being deleted or moved here has a directory with another name.
    """
    found = [each for each in map(parse_partition_directory, names) if each is not None]
    there = {(each.topic, each.partition) for each in found if each.state is not DirectoryState.STRAY}
    for (topic, partition), recovery_point in sorted(_recovery_points(path, reading).items()):
        if recovery_point > 0 and (topic, partition) not in there:
            directory = os.path.join(path, partition_directory(topic, partition))
            detail = f"the directory is missing, and up to offset {recovery_point} it was synced"
            yield Finding(FindingKind.END, directory, None, 0, detail)


def _recovery_points(path: str, reading: Reading) -> dict[tuple[str, int], int]:
    """Return the recovery points; none where the file cannot be read, which `check_root` reports."""
    try:
        return decode_offsets(reading.content(os.path.join(path, RECOVERY_POINT_CHECKPOINT)) or b"")
    except DecodeError:
        return {}
