"""What becomes of a batch and of a record: Kafka's rules, as tables and functions without state.

docs/decisions/0117 has them in words. Knows no files, no map and no clock.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from barnabas.protocol.records.batch import BatchHeader


class Retention(IntEnum):
    """What a batch is to be if none of its records is kept, and whether they are looked at."""

    DELETE = 0  # gone, unread
    DELETE_EMPTY = 1
    RETAIN_EMPTY = 2


class Outcome(IntEnum):
    """What a batch becomes."""

    DROPPED = 0
    EMPTIED = 1
    VERBATIM = 2
    REWRITTEN = 3


class LastRecord(NamedTuple):
    """What of an active producer has to stay in the log: its last data batch, or where it has none (-1) its epoch."""

    last_data_offset: int
    producer_epoch: int


_RETENTIONS: Final = {
    # (tells the producer's or the log's end, records are discarded)
    (False, False): Retention.DELETE_EMPTY,
    (False, True): Retention.DELETE,
    (True, False): Retention.RETAIN_EMPTY,
    (True, True): Retention.RETAIN_EMPTY,
}

_OUTCOMES: Final = {
    # (some record is kept, all are and no horizon is to be set, an empty batch is kept)
    (False, False, False): Outcome.DROPPED,
    (False, True, False): Outcome.DROPPED,  # it was empty before
    (False, False, True): Outcome.EMPTIED,
    (False, True, True): Outcome.EMPTIED,
    (True, False, False): Outcome.REWRITTEN,
    (True, False, True): Outcome.REWRITTEN,
    (True, True, False): Outcome.VERBATIM,
    (True, True, True): Outcome.VERBATIM,
}


def tells_producers_end(header: BatchHeader, last: LastRecord | None) -> bool:
    """Whether the batch is the last that tells of its producer: its sequence number, or at least its epoch."""
    if last is None or not header.has_producer_id:
        return False
    if last.last_data_offset >= 0:
        return header.last_offset == last.last_data_offset
    return header.is_control and header.producer_epoch == last.producer_epoch


def discards_records(header: BatchHeader, can_discard: bool, now_ms: int) -> bool:
    """Whether all records of a batch go: of a transaction that was aborted, or of a marker when its time has come."""
    if not header.is_control:
        return can_discard
    return can_discard and header.has_delete_horizon and header.base_timestamp <= now_ms


def retention(tells_an_end: bool, discards: bool) -> Retention:
    """What a batch is to be if nothing is left of it."""
    return _RETENTIONS[tells_an_end, discards]


def keeps_tombstones(header: BatchHeader, now_ms: int) -> bool:
    """Whether records without a value stay in a batch: until its horizon, which it does not have at first."""
    return not header.has_delete_horizon or now_ms < header.base_timestamp


def sets_horizon(header: BatchHeader, has_tombstone: bool, is_useless_marker: bool) -> bool:
    """Whether a batch gets the time from which on its tombstones, or its marker, may go."""
    return (has_tombstone or is_useless_marker) and not header.has_delete_horizon


def outcome(kept: int, records_count: int, gets_horizon: bool, kind: Retention) -> Outcome:
    """What becomes of a batch of which `kept` records stay."""
    return _OUTCOMES[kept > 0, kept == records_count and not gets_horizon, kind == Retention.RETAIN_EMPTY]
