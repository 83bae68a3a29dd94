"""What becomes of batches, as a table."""

import pytest

from barnabas.protocol.records.batch import (
    CONTROL_MASK,
    DELETE_HORIZON_MASK,
    TRANSACTIONAL_MASK,
    BatchHeader,
    parse_header,
)
from barnabas.protocol.records.builder import build_batch
from barnabas.storage.cleaner.batch_retention import (
    BatchOutcome,
    BatchRetention,
    LastRecord,
    discards_records,
    keeps_tombstones,
    outcome,
    retention,
    sets_horizon,
    tells_producers_end,
)

NOW_MS = 1_000
DATA = TRANSACTIONAL_MASK
MARKER = TRANSACTIONAL_MASK | CONTROL_MASK
DUE_MARKER = MARKER | DELETE_HORIZON_MASK


def header(attributes: int = 0, *, base_timestamp: int = NOW_MS, producer_id: int = 5) -> BatchHeader:
    found = parse_header(build_batch([(b"k", b"v", (), 1), (b"l", b"w", (), 2)], base_offset=10))
    return found._replace(
        attributes=attributes, base_timestamp=base_timestamp, producer_id=producer_id, producer_epoch=3
    )


@pytest.mark.parametrize(
    ("attributes", "base_timestamp", "can_discard", "expected"),
    [
        (DATA, 0, True, True),
        (DATA, 0, False, False),
        (MARKER, 0, True, False),  # it has no horizon yet
        (DUE_MARKER, NOW_MS, True, True),
        (DUE_MARKER, NOW_MS + 1, True, False),
        (DUE_MARKER, NOW_MS, False, False),
    ],
)
def test_discarded_batches(attributes: int, base_timestamp: int, can_discard: bool, expected: bool) -> None:
    assert discards_records(header(attributes, base_timestamp=base_timestamp), can_discard, NOW_MS) is expected


@pytest.mark.parametrize(
    ("attributes", "producer_id", "last", "expected"),
    [
        (0, 5, LastRecord(11, 3), True),
        (0, 5, LastRecord(10, 3), False),  # the last record of the batch is at 11
        (0, 5, None, False),
        (0, -1, LastRecord(11, 3), False),
        (0, 5, LastRecord(-1, 3), False),
        (MARKER, 5, LastRecord(-1, 3), True),
        (MARKER, 5, LastRecord(-1, 4), False),
    ],
)
def test_records_that_state_a_producers_end(
    attributes: int, producer_id: int, last: LastRecord | None, expected: bool
) -> None:
    assert tells_producers_end(header(attributes, producer_id=producer_id), last) is expected


@pytest.mark.parametrize(
    ("tells_an_end", "discards", "expected"),
    [
        (False, False, BatchRetention.DELETE_EMPTY),
        (False, True, BatchRetention.DELETE),
        (True, False, BatchRetention.RETAIN_EMPTY),
        (True, True, BatchRetention.RETAIN_EMPTY),
    ],
)
def test_the_planned_form_of_an_emptied_batch(tells_an_end: bool, discards: bool, expected: BatchRetention) -> None:
    assert retention(tells_an_end, discards) is expected


@pytest.mark.parametrize(
    ("kept", "gets_horizon", "kind", "expected"),
    [
        (0, False, BatchRetention.DELETE_EMPTY, BatchOutcome.DROPPED),
        (0, False, BatchRetention.RETAIN_EMPTY, BatchOutcome.EMPTIED),
        (0, True, BatchRetention.RETAIN_EMPTY, BatchOutcome.EMPTIED),
        (1, False, BatchRetention.DELETE_EMPTY, BatchOutcome.REWRITTEN),
        (2, False, BatchRetention.DELETE_EMPTY, BatchOutcome.VERBATIM),
        (2, False, BatchRetention.RETAIN_EMPTY, BatchOutcome.VERBATIM),
        (2, True, BatchRetention.DELETE_EMPTY, BatchOutcome.REWRITTEN),
    ],
)
def test_the_cleaned_form_of_a_batch_of_two_records(
    kept: int, gets_horizon: bool, kind: BatchRetention, expected: BatchOutcome
) -> None:
    assert outcome(kept, 2, gets_horizon, kind) is expected


@pytest.mark.parametrize(("kind", "expected"), [(1, BatchOutcome.DROPPED), (2, BatchOutcome.EMPTIED)])
def test_the_cleaned_form_of_an_empty_batch(kind: int, expected: BatchOutcome) -> None:
    assert outcome(0, 0, False, BatchRetention(kind)) is expected


def test_tombstones_stay_until_their_horizon() -> None:
    assert keeps_tombstones(header(0, base_timestamp=0), NOW_MS)
    assert keeps_tombstones(header(DELETE_HORIZON_MASK, base_timestamp=NOW_MS + 1), NOW_MS)
    assert not keeps_tombstones(header(DELETE_HORIZON_MASK, base_timestamp=NOW_MS), NOW_MS)


def test_a_horizon_is_set_once() -> None:
    assert sets_horizon(header(), True, False)
    assert sets_horizon(header(MARKER), False, True)
    assert not sets_horizon(header(), False, False)
    assert not sets_horizon(header(DELETE_HORIZON_MASK), True, True)
