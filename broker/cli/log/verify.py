"""`barnabas log verify`: does every byte of a data directory conform to the file formats?

Reads only, and takes no lock; `log repair` repairs. The checks are in barnabas.logfiles, and are the same as Spark's
`findings`; this module selects the directories and prints the findings. A normal state after a kill is a note.
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
from barnabas.logfiles.segment_check import CheckTally
from barnabas.protocol.files.names import META_PROPERTIES, DirectoryState

LOOKED_INTO = frozenset(DirectoryState) - {DirectoryState.DELETE}  # a directory that is being deleted may be incomplete


def partitions(directory: Path) -> list[PartitionFiles]:
    """Return the partitions of a data directory, or the single one of a partition's directory; empty for others."""
    is_data_directory = (directory / META_PROPERTIES).exists()
    if not is_data_directory and not any(any(directory.glob(logs)) for logs in ("*.log", "*/*.log")):
        return []  # it only has directories with names like those of partitions
    try:
        return read_layout(str(directory), lambda topic, partition: True, LOOKED_INTO)
    except NoDataDirectory:
        return []


def data_directory(path: Path) -> Path:
    """Return the data directory that a path is, or that its partition is in."""
    return path if (path / META_PROPERTIES).exists() else path.absolute().parent


def verify(
    path: Path, found: list[PartitionFiles], tally: CheckTally, progress: Callable[[], None]
) -> Iterator[Finding]:
    """Yield every fault of the partitions, and of the files in the root, when it is found.

    path: the given path; `progress` is called after each segment.
    """
    root = data_directory(path)
    yield from check_root(str(root))
    if path == root and root.is_dir():
        yield from check_directories(str(root), os.listdir(root))
    for files in found:
        yield from check_partition(files, tally=tally, segment_done=progress)


def as_line(finding: Finding) -> str:
    """Return a finding as a line of text."""
    place = "content" if finding.position is None else finding.position
    return f"{finding.path} @ {place}: {'note: ' if finding.is_note else ''}{finding.detail}"


def as_object(finding: Finding) -> dict[str, Any]:
    """Return a finding as a JSON object."""
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
