# compiled: mypyc
"""Acknowledgements of one member for one share partition: checked as a whole, before anything changes (KIP-932).

Either all of a request's acknowledgements for a partition are applied or none is. Offsets below the start offset are
acknowledged silently for every member. An offset that the member does not hold gets INVALID_RECORD_STATE, one behind
all acquired records INVALID_REQUEST.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from barnabas.broker.partitions.share.in_flight_records import DeliveryCell, InFlightRecords
from barnabas.broker.partitions.share.persister import DeliveryState
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.errors import ErrorCode, KafkaError


class AcknowledgedBatch(NamedTuple):
    """A range of offsets, with one type for all or one for each."""

    first_offset: int
    last_offset: int
    types: Sequence[int]


_TYPES = tuple(AcknowledgeType)
"""The types by number: their numbers are 0 to 4."""


AcknowledgedRange: TypeAlias = tuple[int, int, AcknowledgeType]
"""First and last offset of a range, and its type."""


def checked_batches(batches: Sequence[AcknowledgedBatch], *, may_renew: bool) -> None:
    """Raise KafkaError INVALID_REQUEST where a request's acknowledgements are malformed."""
    done: int | None = None
    known = set(AcknowledgeType) if may_renew else set(AcknowledgeType) - {AcknowledgeType.RENEW}
    for first, last, types in batches:
        is_ordered = first <= last and (done is None or done <= first) and not first < 0 <= last
        if not is_ordered or len(types) not in (1, last - first + 1) or not known.issuperset(types):
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        done = last


def acknowledged_ranges(batch: AcknowledgedBatch) -> Iterator[AcknowledgedRange]:
    """Return the ranges of equal type, in order."""
    types = batch.types
    if len(types) == 1:
        yield batch.first_offset, batch.last_offset, _TYPES[types[0]]
        return
    begin = 0
    for index in range(1, len(types) + 1):
        if index == len(types) or types[index] != types[begin]:
            first = batch.first_offset
            yield first + begin, first + index - 1, _TYPES[types[begin]]
            begin = index


def acknowledged_cells(
    in_flight: InFlightRecords, batch: AcknowledgedBatch, start_offset: int
) -> Iterator[tuple[DeliveryCell, AcknowledgeType]]:
    """Return the cells of a batch with their types; cells that have several are split."""
    if batch.last_offset < start_offset:
        return
    ranges = [each for each in acknowledged_ranges(batch) if each[1] >= start_offset]
    first = max(batch.first_offset, start_offset)
    bounds = [first, *(begin for begin, _, _ in ranges[1:]), batch.last_offset + 1]
    wanted = iter(ranges)
    _, last, kind = next(wanted)
    for known in in_flight.between(first, batch.last_offset):
        known.divide(bounds)
        for cell in known.overlapping(first, batch.last_offset):
            while last < cell.first:
                _, last, kind = next(wanted)
            yield cell, kind


def check_held(
    in_flight: InFlightRecords, batches: Sequence[AcknowledgedBatch], start_offset: int, member: str
) -> None:
    """Raise KafkaError unless the member may acknowledge all of this now."""
    done = start_offset - 1
    for batch in batches:
        if batch.last_offset < start_offset:
            continue
        first = max(batch.first_offset, start_offset)
        if first <= done:
            raise KafkaError(ErrorCode.INVALID_RECORD_STATE, "The offset cannot be acknowledged. It is there twice.")
        done = batch.last_offset
        _check_inside(in_flight, first, batch.last_offset)
        for known in in_flight.between(first, batch.last_offset):
            for cell in known.overlapping(first, batch.last_offset):
                _check_cell(cell, member)


def _check_inside(in_flight: InFlightRecords, first: int, last: int) -> None:
    if in_flight.floor(first) is None:
        raise KafkaError(
            ErrorCode.INVALID_RECORD_STATE,
            "Batch record not found. The request batch offsets are not found in the cache.",
        )
    newest = in_flight.floor(last)
    assert newest is not None, "there is one at or before `first`"
    for bound, offset in (("first", first), ("last", last)):
        if newest.last < offset:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                f"Batch record not found. The {bound} offset in request is past acquired records.",
            )


def _check_cell(cell: DeliveryCell, member: str) -> None:
    if cell.state is not DeliveryState.ACQUIRED or cell.change is not None:
        raise KafkaError(
            ErrorCode.INVALID_RECORD_STATE, "The offset cannot be acknowledged. The offset is not acquired."
        )
    if cell.member != member:
        raise KafkaError(ErrorCode.INVALID_RECORD_STATE, "Member is not the owner of batch record")
