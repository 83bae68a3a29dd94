"""`barnabas log verify`: is every byte of a data directory what the formats say it must be?

Reads; never locks; `log repair` repairs. What is checked is barnabas.logfiles' business, and the same as Spark's
`findings`; here is which directories are looked at and how a finding is printed. What is normal after a kill is a
note.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from barnabas.logfiles.data_directory import NoDataDirectory, PartitionFiles, read_layout
from barnabas.logfiles.findings import Finding
from barnabas.logfiles.partition_check import check_partition
from barnabas.logfiles.root_check import check_directories, check_root
from barnabas.logfiles.segment_check import Tally
from barnabas.protocol.files.names import META_PROPERTIES, DirectoryState

LOOKED_INTO = frozenset(DirectoryState) - {DirectoryState.DELETE}  # half of what is being deleted may be gone


def partitions(directory: Path) -> list[PartitionFiles]:
    """Those in a data directory, or the one whose directory it is; none if it is neither."""
    try:
        return read_layout(str(directory), lambda topic, partition: True, LOOKED_INTO)
    except NoDataDirectory:
        return []


def data_directory(path: Path) -> Path:
    """The data directory that a path is, or is a partition of."""
    return path if (path / META_PROPERTIES).exists() else path.absolute().parent


def verify(path: Path, found: list[PartitionFiles], tally: Tally, progress: Callable[[], None]) -> Iterator[Finding]:
    """Everything that is wrong with them, and with the files in the root, as it is found.

    path: what was asked for; `progress` is called after each segment.
    """
    root = data_directory(path)
    yield from check_root(str(root))
    if path == root and root.is_dir():
        yield from check_directories(str(root), os.listdir(root))
    for files in found:
        yield from check_partition(files, tally=tally, segment_done=progress)


def as_line(finding: Finding) -> str:
    """A finding for a person."""
    place = "content" if finding.position is None else finding.position
    return f"{finding.path} @ {place}: {'note: ' if finding.is_note else ''}{finding.detail}"


def as_object(finding: Finding) -> dict[str, Any]:
    """A finding for a program."""
    place = "content" if finding.position is None else str(finding.position)
    return {
        "path": finding.path,
        "place": place,
        "text": finding.detail,
        "is_note": finding.is_note,
        "kind": finding.kind.value,
        "position": finding.position,
        "offset": finding.offset,
    }
