"""Which batches are of aborted transactions, and which markers may go."""

import pytest

from barnabas.protocol.files.txn_index import AbortedTxn
from barnabas.protocol.records.batch import parse_header
from barnabas.protocol.records.builder import build_batch
from barnabas.protocol.records.control import ControlRecordType, control_batch, end_txn_marker
from barnabas.protocol.records.rewriting import empty_batch
from barnabas.storage.cleaner.transactions import BatchKind, CleanedTransactions, kind_of


@pytest.fixture
def transactions() -> CleanedTransactions:
    return CleanedTransactions()


def data(transactions: CleanedTransactions, offset: int, producer_id: int, *, transactional: bool = True) -> bool:
    batch = build_batch([(b"k", b"v", (), 1)], base_offset=offset, producer_id=producer_id, transactional=transactional)
    return take(transactions, bytes(batch))


def marker(transactions: CleanedTransactions, offset: int, producer_id: int, *, commit: bool) -> bool:
    return take(transactions, bytes(end_txn_marker(commit, producer_id, 0, 0, 1, offset)))


def take(transactions: CleanedTransactions, batch: bytes) -> bool:
    header = parse_header(batch)
    return transactions.can_discard(header, kind_of(batch, header))


def test_data_outside_of_transactions_stay(transactions: CleanedTransactions) -> None:
    transactions.add_aborted([AbortedTxn(1, 0, 9, 10)])
    assert not data(transactions, 0, 1, transactional=False)


def test_aborted_data_go_and_their_marker_stays_with_its_entry(transactions: CleanedTransactions) -> None:
    entry = AbortedTxn(1, 3, 9, 10)
    transactions.add_aborted([entry])
    assert not data(transactions, 2, 1)  # of an earlier transaction
    assert data(transactions, 3, 1)
    assert not data(transactions, 4, 2)
    assert not marker(transactions, 9, 1, commit=False)
    assert transactions.take_kept_entries() == [entry]
    assert transactions.take_kept_entries() == []
    assert not data(transactions, 10, 1)


def test_an_entry_may_come_again_with_the_next_segment(transactions: CleanedTransactions) -> None:
    entry = AbortedTxn(1, 0, 9, 10)
    transactions.add_aborted([entry])
    assert data(transactions, 0, 1)
    transactions.add_aborted([entry])
    assert data(transactions, 5, 1)
    assert not marker(transactions, 9, 1, commit=False)
    assert transactions.take_kept_entries() == [entry]


def test_an_abort_marker_without_data_may_go(transactions: CleanedTransactions) -> None:
    assert marker(transactions, 4, 1, commit=False)
    transactions.add_aborted([AbortedTxn(1, 5, 9, 10)])
    assert marker(transactions, 9, 1, commit=False)
    assert transactions.take_kept_entries() == []


def test_a_commit_marker_stays_as_long_as_there_are_data(transactions: CleanedTransactions) -> None:
    assert not data(transactions, 0, 1)
    assert not marker(transactions, 1, 1, commit=True)
    assert marker(transactions, 2, 1, commit=True)


def test_control_batches_of_other_kinds_stay_and_empty_ones_may_go(transactions: CleanedTransactions) -> None:
    other = bytes(control_batch([(ControlRecordType.LEADER_CHANGE, b"x")], timestamp_ms=1))
    assert kind_of(other, parse_header(other)) is BatchKind.OTHER_CONTROL
    assert not take(transactions, other)
    empty = bytes(empty_batch(parse_header(end_txn_marker(True, 1, 0, 0, 1, 5))))
    assert kind_of(empty, parse_header(empty)) is BatchKind.EMPTY_CONTROL
    assert take(transactions, empty)
