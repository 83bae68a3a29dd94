"""Whether a batch is dropped, emptied, rewritten or unchanged, and how long tombstones and markers stay: Kafka's rules.

Tables and functions without state; docs/decisions/0118 explains them. Which record of a key stays is decided in
`record_filter.py`. Uses no files, no map and no clock.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from barnabas.protocol.records.batch import BatchHeader


class BatchRetention(IntEnum):
    """The state of a batch if none of its records is retained, and whether its records are read at all."""

    DELETE = 0  # removed without reading its records
    DELETE_EMPTY = 1
    RETAIN_EMPTY = 2


class BatchOutcome(IntEnum):
    """The result of cleaning one batch."""

    DROPPED = 0
    EMPTIED = 1
    VERBATIM = 2
    REWRITTEN = 3


class LastRecord(NamedTuple):
    """The record of an active producer that must stay: its last data batch or, if it has none (-1), its epoch."""

    last_data_offset: int
    producer_epoch: int


_RETENTIONS: Final = {
    # (is the last of its producer or of the log, records are discarded)
    (False, False): BatchRetention.DELETE_EMPTY,
    (False, True): BatchRetention.DELETE,
    (True, False): BatchRetention.RETAIN_EMPTY,
    (True, True): BatchRetention.RETAIN_EMPTY,
}

_OUTCOMES: Final = {
    # (some record is retained, all are and no horizon must be set, an empty batch is retained)
    (False, False, False): BatchOutcome.DROPPED,
    (False, True, False): BatchOutcome.DROPPED,  # it was empty before
    (False, False, True): BatchOutcome.EMPTIED,
    (False, True, True): BatchOutcome.EMPTIED,
    (True, False, False): BatchOutcome.REWRITTEN,
    (True, False, True): BatchOutcome.REWRITTEN,
    (True, True, False): BatchOutcome.VERBATIM,
    (True, True, True): BatchOutcome.VERBATIM,
}


def tells_producers_end(header: BatchHeader, last: LastRecord | None) -> bool:
    """Return whether the batch is the last one with its producer's sequence number, or at least with its epoch."""
    if last is None or not header.has_producer_id:
        return False
    if last.last_data_offset >= 0:
        return header.last_offset == last.last_data_offset
    return header.is_control and header.producer_epoch == last.producer_epoch


def discards_records(header: BatchHeader, can_discard: bool, now_ms: int) -> bool:
    """Return whether all records are discarded: of an aborted transaction, or of a marker past its delete horizon."""
    if not header.is_control:
        return can_discard
    return can_discard and header.has_delete_horizon and header.base_timestamp <= now_ms


def retention(tells_an_end: bool, discards: bool) -> BatchRetention:
    """Return the state of a batch if no record of it is retained."""
    return _RETENTIONS[tells_an_end, discards]


def keeps_tombstones(header: BatchHeader, now_ms: int) -> bool:
    """Return whether tombstones stay in a batch: until its delete horizon, which is not set at first."""
    return not header.has_delete_horizon or now_ms < header.base_timestamp


def sets_horizon(header: BatchHeader, has_tombstone: bool, is_useless_marker: bool) -> bool:
    """Return whether a batch gets a delete horizon, from which its tombstones, or its marker, may be removed."""
    return (has_tombstone or is_useless_marker) and not header.has_delete_horizon


def outcome(retained: int, records_count: int, gets_horizon: bool, kind: BatchRetention) -> BatchOutcome:
    """Return the result for a batch of which `retained` records are retained."""
    return _OUTCOMES[retained > 0, retained == records_count and not gets_horizon, kind == BatchRetention.RETAIN_EMPTY]
