"""docs/formats/transaction-state.md says what the code does, byte for byte."""

from pathlib import Path

import pytest

from barnabas.broker.coordinator.runtime.placement import partition_for
from barnabas.broker.coordinator.transaction.model import Transaction, TransactionStored
from barnabas.broker.coordinator.transaction.records import decode, encode
from barnabas.broker.coordinator.transaction.states import TransactionState
from barnabas.protocol.records.control import end_txn_marker
from barnabas.protocol.records.record import iter_records

_PAGE = Path(__file__).parents[4] / "docs" / "formats" / "transaction-state.md"
_NOW_MS = 1_700_000_000_000
_PLACES = frozenset({("a", 0), ("a", 1), ("b", 0)})
_OLD = "Ongoing as transaction.version 0 writes it"


def _stored(state: TransactionState, epoch: int = 1, **fields: object) -> TransactionStored:
    started = {} if state is TransactionState.EMPTY else {"start_timestamp_ms": _NOW_MS}
    values = {"producer_id": 7, "timeout_ms": 60_000, **started, **fields}
    return TransactionStored(
        "t",
        Transaction(
            transactional_id="t",
            producer_epoch=epoch,
            state=state,
            last_update_timestamp_ms=_NOW_MS,
            **values,  # type: ignore[arg-type]  # because the values are of several types
        ),
    )


_MEANT = {
    "Empty, just initialised": _stored(TransactionState.EMPTY),
    "Ongoing in a-0, a-1 and b-0": _stored(TransactionState.ONGOING, partitions=_PLACES, client_transaction_version=2),
    _OLD: _stored(TransactionState.ONGOING, partitions=_PLACES),
    "PrepareCommit under TV2": _stored(
        TransactionState.PREPARE_COMMIT, 2, partitions=_PLACES, client_transaction_version=2
    ),
    "CompleteCommit": _stored(TransactionState.COMPLETE_COMMIT, 2, client_transaction_version=2),
    "PrepareAbort that used up its epochs": _stored(
        TransactionState.PREPARE_ABORT, 32767, next_producer_id=9, client_transaction_version=2
    ),
    "CompleteAbort after it": _stored(
        TransactionState.COMPLETE_ABORT, 0, producer_id=9, previous_producer_id=7, client_transaction_version=2
    ),
    "the id expired": TransactionStored("t", None),
}


def _rows(section: str) -> dict[str, list[str]]:
    worked = _PAGE.read_text().split(f"## {section}")[1].split("\n## ")[0]
    rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in worked.splitlines() if line[:1] == "|"]
    return {row[0]: row[1:] for row in rows[2:]}


def test_the_page_shows_every_kind_of_record() -> None:
    assert list(_rows("Worked bytes")) == list(_MEANT)


@pytest.mark.parametrize("what", _MEANT)
def test_the_bytes_of_the_page_are_those_of_the_code(what: str) -> None:
    key, value = (None if cell == "null" else bytes.fromhex(cell) for cell in _rows("Worked bytes")[what])
    assert decode(key, value) == _MEANT[what]
    assert encode(_MEANT[what], 0 if what == _OLD else 2) == (key, value)


def test_the_markers_of_the_page_are_those_of_the_code() -> None:
    for commit, what in ((True, "commit"), (False, "abort")):
        batch = end_txn_marker(commit, 7, 2, 3, _NOW_MS, 10, 4)
        (record,) = iter_records(memoryview(batch))
        assert [(record.key or b"").hex(), (record.value or b"").hex()] == _rows("Markers")[what]


def test_the_partition_of_the_page_is_that_of_the_code() -> None:
    assert f"`shop-7` is in {partition_for('shop-7', 50)}" in _PAGE.read_text()
