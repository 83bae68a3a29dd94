"""The contents of a checkpoint: the query's id, how far a batch read its sources, and a hash of just that.

Spark writes <checkpoint>/offsets/<batch> before the tasks of the batch begin: a line with the version, one with
metadata as JSON, and one for each source, `-` where a source has no data; in version 2 behind the source's name and a
colon. Offsets by topic, {"orders": {"0": 18004}}, are those of Kafka's source and of ours; of other sources nothing is
known but the hash.

The metadata holds the time at which the batch began, and a batch that is repeated keeps it. Only the lines of the
sources are hashed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark_barnabas.commit.ledger import SourceOffset
from pyspark_barnabas.reporting.user_errors import UserError

_VERSIONS = ("v1", "v2")
_NO_DATA = "-"


@dataclass(frozen=True, slots=True)
class CheckpointOffsets:
    """The offsets of one batch in a checkpoint.

    sha256: of the sources' lines, in hexadecimal. offsets: of every source that reads topics, as the next to be read.
    """

    sha256: str
    offsets: tuple[SourceOffset, ...]


class CheckpointUnseen(UserError, ValueError):
    """The checkpoint cannot be read from here, or is none; the message says what to do."""


def read_checkpoint(location: str, batch_id: int) -> CheckpointOffsets:
    """Return the offsets of a batch in the checkpoint at `location` (path or URI). Raise CheckpointUnseen if none."""
    return parse_offsets(_read(location, f"offsets/{batch_id}").decode(), f"offsets/{batch_id} in {location}")


def read_query_id(location: str) -> str:
    """Return the id of the query that the checkpoint belongs to. Raise CheckpointUnseen if it has none."""
    try:
        found = json.loads(_read(location, "metadata"))["id"]
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, CheckpointUnseen):
            raise
        raise _damaged(f"metadata in {location}", "it holds no query id") from error
    return str(found)


def parse_offsets(text: str, where: str = "the checkpoint") -> CheckpointOffsets:
    """Parse a file of <checkpoint>/offsets. Pure."""
    version, *lines = text.rstrip("\n").split("\n")
    if version not in _VERSIONS:
        raise _damaged(where, f"it begins with {version[:40]!r}, and {' or '.join(_VERSIONS)} is expected")
    if len(lines) < 2:
        raise _damaged(where, "it has no line for a source")
    sources = lines[1:]
    offsets: dict[tuple[str, int], int] = {}
    for source in sources:
        line = source if version == "v1" else source.partition(":")[2]
        if line == _NO_DATA:
            continue
        try:
            found = json.loads(line)
        except ValueError as error:
            raise _damaged(where, "a source's line is not JSON") from error
        for topic, partition, offset in _topic_offsets(found):
            # Two sources may read one partition: the group's offset is the one that both have read.
            offsets[topic, partition] = min(offset, offsets.get((topic, partition), offset))
    return CheckpointOffsets(
        sha256("\n".join(sources).encode()).hexdigest(),
        tuple(SourceOffset(topic, partition, offset) for (topic, partition), offset in sorted(offsets.items())),
    )


def _topic_offsets(found: Any) -> list[tuple[str, int, int]]:
    """Return (topic, partition, offset) if the source counts those; nothing otherwise."""
    if not isinstance(found, dict):
        return []
    rows = []
    for topic, partitions in found.items():
        if not isinstance(partitions, dict):
            return []
        for partition, offset in partitions.items():
            if not partition.isdecimal() or type(offset) is not int or offset < 0:
                return []
            rows.append((topic, int(partition), offset))
    return rows


def _read(location: str, name: str) -> bytes:
    if "://" not in location and not location.startswith("file:"):
        return _seen(lambda: (Path(location) / name).read_bytes(), location, name)
    parts = urlsplit(location)
    if parts.scheme == "file":
        return _seen(lambda: (Path(unquote(parts.path)) / name).read_bytes(), location, name)
    return _seen(lambda: _read_remote(location, name), location, name)


def _read_remote(location: str, name: str) -> bytes:
    from pyarrow import fs

    file_system, path = fs.FileSystem.from_uri(location)
    with file_system.open_input_stream(f"{path.rstrip('/')}/{name}") as stream:
        return bytes(stream.read())


def _seen(read: Callable[[], bytes], location: str, name: str) -> bytes:
    try:
        return read()
    except (OSError, ValueError, ImportError) as error:
        raise CheckpointUnseen(
            f"the checkpoint {location!r} cannot be read where the batch is committed ({name}: {error}): without it "
            "a rolled-back checkpoint would not be noticed. Give checkpointLocation as a path or URI that the driver's"
            " Python can read: a mounted directory, file:, or hdfs:, s3:, gs: through pyarrow"
        ) from error


def _damaged(where: str, why: str) -> CheckpointUnseen:
    return CheckpointUnseen(
        f"{where} has an unknown format: {why}. Nothing was decided. Restore the checkpoint, or check that this "
        "release supports the Spark that wrote it"
    )
