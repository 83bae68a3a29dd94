"""Findings: the places where a partition's files do not follow the formats.

Other programs read the kinds (`barnabas log verify --json`, `content=findings` in Spark, the audit's verdict). A kind
may be added; none changes its name or its meaning.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.logfiles.walk import Damage, LogStretch
from barnabas.protocol.older_python import StrEnum


class FindingKind(StrEnum):
    """The subject of a finding."""

    CRC = Damage.CRC
    OFFSET = Damage.OFFSET
    NO_BATCH = Damage.NO_BATCH
    TORN = Damage.TORN
    ZEROS = Damage.ZEROS
    HEADER = "header"  # of a whole batch: it contradicts itself
    LEADER_EPOCH = "leader epoch"  # of a batch: below that of the batch before, or not that of the checkpoint
    RECORDS = "records"  # of a whole batch: not as its header or the format requires
    TIMESTAMP = "timestamp"  # the largest one in a header is not that of its records
    COMPRESSION = "compression"  # it can be decompressed, but not by every client
    CONTROL = "control"  # a control record that cannot be read
    HOLE = "hole"  # between two segments: offsets that neither has
    OVERLAP = "overlap"  # of two segments: offsets that both have
    OFFSET_INDEX = "offset index"
    TIME_INDEX = "time index"
    TRANSACTION_INDEX = "transaction index"
    PRODUCER_SNAPSHOT = "producer snapshot"
    LEADER_EPOCHS = "leader epochs"  # the checkpoint
    PARTITION_METADATA = "partition metadata"
    END = "end"  # of the log: below the synced offset in a checkpoint
    DATA_DIRECTORY = "data directory"  # one of the files in its root


class Finding(NamedTuple):
    """One defect: its place, and a sentence about it.

    position: in the file, in bytes. offset: the nearest that is known. is_note: a kill or a power cut leaves this, and
    the next start repairs it.
    """

    kind: FindingKind
    path: str
    position: int | None
    offset: int | None
    detail: str
    is_note: bool = False


def describe(found: LogStretch) -> str:
    """Return a sentence about a damaged stretch of a log."""
    claimed = "" if found.header is None else f" (by its header from offset {found.header.base_offset})"
    if found.damage is Damage.CRC:
        return f"the CRC of this batch of {found.size} bytes{claimed} is not that of its bytes"
    if found.damage is Damage.OFFSET:
        return f"a whole batch of {found.size} bytes{claimed}, where that offset cannot be"
    if found.damage is Damage.TORN:
        return f"the file ends inside a batch{claimed}, {found.size} bytes behind its beginning"
    if found.damage is Damage.ZEROS:
        return f"the file ends in {found.size} zeros"
    if found.old_format is not None:
        return f"{found.size} bytes begin with message format v{found.old_format}, and only v2 is read"
    return f"{found.size} bytes are not a batch{claimed}"
