"""Whether a decided batch can be written again from the log, by what its partitions have of it."""

import pytest

from pyspark_barnabas.cli.lost_rows import Found, LostRows, PartitionRows, describe, missing, producers_of, why_not
from pyspark_barnabas.commit.identity import RunToken
from pyspark_barnabas.commit.ledger import Decided, Ledger, SourceOffset
from pyspark_barnabas.commit.messages import PreparedTransaction
from pyspark_barnabas.rows.digest import MODULUS

FIRST, SECOND = PreparedTransaction("p.1-1.0.10", 20, 0), PreparedTransaction("p.1-1.1.11", 21, 3)


def decided(batch_id: int, offset: int, rows: int = 5, digest: int = 1) -> Decided:
    offsets = (SourceOffset("orders", 0, offset),)
    return Decided("q", batch_id, "r", RunToken(1, 1), batch_id + 1, (FIRST, SECOND), rows, digest, offsets, None)


BATCH = decided(7, 90)


def partition(*, is_second_aborted: bool = True) -> PartitionRows:
    """3 rows of the first producer, committed, and 2 of the second one."""
    rows = PartitionRows()
    rows.data((20, 0), LostRows(2, MODULUS - 9, 10, 11))
    rows.data((21, 3), LostRows(2, 7, 12, 13))
    rows.data((20, 0), LostRows(1, 3, 14, 14))
    rows.marker(20, is_commit=True)
    rows.marker(21, is_commit=not is_second_aborted)
    return rows


def test_rows_count_by_the_next_marker_of_their_producer() -> None:
    rows = partition()
    assert rows.visible == LostRows(3, MODULUS - 6, 10, 14)
    assert rows.aborted == LostRows(2, 7, 12, 13)
    assert (rows.aborted_producers, rows.unended) == ({(21, 3)}, {})
    rows.marker(99, is_commit=False)  # another's
    rows.data((20, 0), LostRows(1, 1, 20, 20))
    assert rows.unended == {(20, 0): LostRows(1, 1, 20, 20)}


def test_missing_rows_begin_with_the_first_for_every_order_of_markers() -> None:
    rows = PartitionRows()
    rows.data((20, 0), LostRows(2, 1, 10, 11))
    rows.data((21, 3), LostRows(2, 7, 12, 13))
    rows.marker(21, is_commit=False)
    rows.marker(20, is_commit=False)
    assert rows.aborted == LostRows(4, 8, 10, 13)


@pytest.mark.parametrize("is_second_aborted", [True, False])
def test_a_batch_is_whole_if_count_and_digest_are_the_ledgers_whether_it_is_seen_or_not(
    is_second_aborted: bool,
) -> None:
    found: Found = {("orders.valid", 0): partition(is_second_aborted=is_second_aborted), ("other", 0): PartitionRows()}
    assert why_not(BATCH, found) == ""
    assert missing(found) == (2 if is_second_aborted else 0)
    assert producers_of(BATCH) == {(20, 0), (21, 3)}


def test_a_batch_outside_of_the_ledger_is_refused_with_a_reason() -> None:
    found: Found = {("orders.valid", 0): partition()}
    assert "have 5 of its 6 rows: give all topics" in why_not(decided(7, 90, rows=6), found)
    assert "their digest differs from the ledger's" in why_not(decided(7, 90, digest=2), found)
    found["orders.valid", 1] = PartitionRows()
    found["orders.valid", 1].data((21, 3), LostRows(1, 1, 5, 5))
    assert "not ended in every partition" in why_not(BATCH, found)


def test_the_report_names_partitions_offsets_and_the_source() -> None:
    found: Found = {("orders.valid", 0): partition(), ("other", 0): PartitionRows()}
    lines = describe(BATCH, 0, Ledger((decided(6, 80), BATCH)), found)
    assert lines[0].startswith("batch 7 of query q: 5 rows, digest 0000000000000001, decided 1970-01-01T00:00:00Z")
    assert lines[1:] == [
        "  source orders-0: offsets 80 to 90",
        "  orders.valid-0: 3 rows visible, 2 missing, aborted at offsets 12 to 13",
    ]
    assert "the start of the query to 90" in describe(BATCH, 0, Ledger((BATCH,)), found)[1]
