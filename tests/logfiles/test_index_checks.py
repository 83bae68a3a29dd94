"""An index beside a walk: which entries are lies, and which nobody can tell."""

from collections.abc import Sequence

import pytest

from barnabas.logfiles.batch_check import check_batch
from barnabas.logfiles.findings import Finding
from barnabas.logfiles.index_checks import IndexCheck, OffsetIndexCheck, TimeIndexCheck, TransactionIndexCheck
from barnabas.protocol.files.offset_index import OffsetIndexEntry
from barnabas.protocol.files.time_index import TimeIndexEntry
from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.records.batch import parse_header
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.control import end_txn_marker

BASE = 100
SIZE = 90  # that a batch is said to have


def data(offset: int, timestamp: int = 0, producer_id: int = -1, count: int = 2) -> bytearray:
    rows = [NewRecord(None, b"v", (), timestamp)] * count
    return build_batch(rows, base_offset=offset, producer_id=producer_id, transactional=producer_id >= 0)


def abort(offset: int, producer_id: int) -> bytearray:
    return end_txn_marker(False, producer_id, 0, 0, 0, offset)


DAMAGE = bytearray()


def run(check: IndexCheck, stretches: Sequence[bytearray]) -> list[str]:
    """What the check finds in batches that lie SIZE bytes apart, and at the end."""
    told: list[Finding | None] = []
    for number, batch in enumerate(stretches):
        if batch is DAMAGE:
            told.append(check.damage(number * SIZE, SIZE))
        else:
            header = parse_header(batch)
            told.append(check.batch(number * SIZE, header, check_batch(header, batch, with_records=False)))
    told.append(check.end())
    return [f"{each.position}: {each.detail}" for each in told if each is not None]


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([(3, 90), (5, 180)], []),
        ([(3, 90), (4, 180)], ["8: entry 1 has a batch at 180 that ends at 104: it ends at 105"]),
        ([(3, 91), (4, 180)], ["0: entry 0 has a batch that begins at 91: no batch begins there"]),
        ([(5, 180), (8, 270), (9, 360)], ["16: entry 2 has a batch that begins at 360: no batch begins there"]),
    ],
)
def test_offsets(entries: list[tuple[int, int]], told: list[str]) -> None:
    log = [data(100), data(102), data(104), data(106, count=3)]
    check = OffsetIndexCheck("p", BASE, [OffsetIndexEntry(*entry) for entry in entries])
    assert run(check, log) == told


def test_an_offset_entry_into_damage_is_no_lie_and_one_before_it_is() -> None:
    log = [data(100), DAMAGE, data(104)]
    entries = [OffsetIndexEntry(2, 95), OffsetIndexEntry(3, 110), OffsetIndexEntry(5, 180)]
    assert run(OffsetIndexCheck("p", BASE, entries), log) == []
    entries[0] = OffsetIndexEntry(1, 40)
    assert run(OffsetIndexCheck("p", BASE, entries), log) == [
        "0: entry 0 has a batch that begins at 40: no batch begins there"
    ]


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([(5, 1), (9, 5)], []),
        ([(9, 4)], []),
        ([(5, 3)], ["0: entry 0 has 5 at offset 103: it is not the largest timestamp of a batch there"]),
        ([(5, 1), (7, 5)], ["12: entry 1 has 7 at offset 105: it is not the largest timestamp of a batch there"]),
        ([(8, 7)], ["0: entry 0 has 8 as the largest timestamp up to offset 107: it is 9"]),
        ([(10, 9)], ["0: entry 0 has offset 109, which is behind the last batch"]),
    ],
)
def test_times(entries: list[tuple[int, int]], told: list[str]) -> None:
    log = [data(100, 5), data(102, 4), data(104, 9), data(106, 8)]
    check = TimeIndexCheck("p", BASE, [TimeIndexEntry(*entry) for entry in entries])
    assert run(check, log) == told


def test_behind_damage_only_the_batch_itself_is_held_against_a_time() -> None:
    log = [data(100, 5), DAMAGE, data(104, 9), data(106, 8)]
    entries = [TimeIndexEntry(5, 1), TimeIndexEntry(7, 3), TimeIndexEntry(8, 7)]
    assert run(TimeIndexCheck("p", BASE, entries), log) == []
    assert run(TimeIndexCheck("p", BASE, [TimeIndexEntry(7, 5)]), log) == [
        "0: entry 0 has 7 at offset 105: it is not the largest timestamp of a batch there"
    ]
    assert run(TimeIndexCheck("p", BASE, [TimeIndexEntry(7, 9)]), [data(100, 5), DAMAGE]) == []


def told_of_aborts(entries: Sequence[tuple[int, int]], log: Sequence[bytearray], *, is_complete: bool) -> list[str]:
    aborted = [AbortedTxn(producer_id, 0, offset, 0) for producer_id, offset in entries]
    return run(TransactionIndexCheck("p", aborted, is_complete=is_complete), log)


ABORTS = [data(100, producer_id=7), data(102, producer_id=8), abort(104, 7), abort(105, 9), abort(106, 8)]


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([(7, 104), (8, 106)], []),
        ([(7, 104), (9, 105), (8, 106)], []),  # the transaction's data may lie in the segment before
        ([(7, 104)], ["None: the abort of producer 8 at offset 106 is missing"]),
        ([(8, 106)], ["None: the abort of producer 7 at offset 104 is missing"]),
        ([(7, 101), (8, 106)], ["0: entry 0 is an abort of producer 7 at 101: the log has none there"]),
        ([(7, 104), (7, 106)], ["34: entry 1 is an abort of producer 7 at 106: the log has none there"]),
        ([(7, 104), (8, 106), (8, 110)], ["68: entry 2 is an abort of producer 8 at 110: the log has none there"]),
    ],
)
def test_aborts(entries: list[tuple[int, int]], told: list[str]) -> None:
    assert told_of_aborts(entries, ABORTS, is_complete=True) == told


def test_no_abort_is_missing_in_the_last_segment() -> None:
    assert told_of_aborts([], ABORTS, is_complete=False) == []


def test_an_abort_in_damage_is_no_lie_and_none_is_missing_that_damage_may_have_ended() -> None:
    log = [data(100, producer_id=7), DAMAGE, abort(104, 7), data(105, producer_id=7), abort(107, 7)]
    assert told_of_aborts([(7, 102), (7, 107)], log, is_complete=True) == []
    missing = ["None: the abort of producer 7 at offset 107 is missing"]
    assert told_of_aborts([(7, 102)], log, is_complete=True) == missing
    assert told_of_aborts([(7, 102)], [data(100, producer_id=7), DAMAGE], is_complete=True) == []
