"""The contents of a task's pieces of a log: each batch with its outcome, each damaged stretch with its description.

`read_committed` hides its batches here, for records and batches alike, and damage is an error as for a consumer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.logfiles.findings import describe
from barnabas.logfiles.walk import Damage, LogStretch, walk_batches
from barnabas.protocol.errors import DecodeError
from barnabas.protocol.records.batch import BatchHeader
from barnabas.protocol.records.control import parse_control_key
from barnabas.protocol.records.record import iter_records
from pyspark_barnabas.reporting.user_errors import UserError
from pyspark_barnabas.source.segments.outcomes import RecordOutcome, RecordOutcomes, read_outcomes
from pyspark_barnabas.source.segments.splits import OffsetBounds, Piece


class LogDamaged(UserError, ValueError):
    """A log that had to be read as consumers read it is damaged, or gone; the message says where."""


class Stretch(NamedTuple):
    """A batch with its outcome, or a damaged stretch: `damage` is a sentence then, and `batch` None."""

    topic: str
    partition: int
    path: str
    position: int
    size: int
    header: BatchHeader | None
    batch: memoryview | None = None
    outcome: RecordOutcome | None = None
    control_type: int | None = None
    crc_ok: bool = True
    damage: str | None = None


def read_stretches(piece: Piece, *, is_committed: bool, fail_on_data_loss: bool) -> Iterator[Stretch]:
    """Yield everything in a piece that may hold wanted offsets, in the order of the log."""
    try:
        yield from _read(piece, is_committed, fail_on_data_loss)
    except FileNotFoundError as error:
        if fail_on_data_loss:
            raise LogDamaged(
                f"{error.filename} was in the directory, but no longer exists: perhaps the segment was deleted. "
                "Read again, or set failOnDataLoss=false to continue without it"
            ) from error


def _read(piece: Piece, is_committed: bool, fail_on_data_loss: bool) -> Iterator[Stretch]:
    outcomes = read_outcomes(piece.files, piece.segment, piece.start, piece.end)
    path = piece.path
    with piece.open() as file:
        for found in walk_batches(file, piece.start, piece.end, piece.bounds):
            if found.damage is None and found.header is not None:
                if piece.offsets.overlaps(found.header.base_offset, found.header.last_offset):
                    stretch = _whole(piece, path, found, found.header, outcomes)
                    if not is_committed or _is_visible(stretch):
                        yield stretch
            elif not is_committed:
                yield _stretch(piece, path, found)._replace(
                    crc_ok=found.damage is Damage.OFFSET, damage=describe(found)
                )
            elif fail_on_data_loss and found.damage not in (Damage.TORN, Damage.ZEROS):
                raise LogDamaged(
                    f"{file.path}, position {found.position}: {describe(found)}. Set failOnDataLoss=false to skip "
                    "it, or isolationLevel=read_uncommitted to see it as a row"
                )


def _stretch(piece: Piece, path: str, found: LogStretch) -> Stretch:
    files = piece.files
    return Stretch(files.topic, files.partition, path, found.position, found.size, found.header)


def _whole(piece: Piece, path: str, found: LogStretch, header: BatchHeader, outcomes: RecordOutcomes) -> Stretch:
    control_type = _control_type(found.batch) if header.is_control and found.batch is not None else None
    stretch = _stretch(piece, path, found)
    return stretch._replace(batch=found.batch, outcome=outcomes.of(header), control_type=control_type)


def _is_visible(stretch: Stretch) -> bool:
    assert stretch.header is not None
    return not stretch.header.is_control and stretch.outcome in (None, RecordOutcome.COMMITTED)


def _control_type(batch: memoryview) -> int | None:
    try:
        record = next(iter_records(batch), None)
        return None if record is None else int(parse_control_key(record.key))
    except DecodeError:
        return None


def narrowed(piece: Piece, end: int | None) -> Piece:
    """Return the piece without the offsets from `end` on; None removes nothing."""
    if end is None:
        return piece
    start, old = piece.offsets
    return piece._replace(offsets=OffsetBounds(start, end if old is None else min(old, end)))
