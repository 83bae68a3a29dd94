"""A log is loaded as Kafka would load it, and what does not follow in it is told."""

import logging

import pytest

from barnabas.broker.coordinator.transaction.decisions.model import TransactionMetadata, TransactionStored
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.coordinator.transaction.decisions.transaction_machine import TransactionMachine

_COMMITTING = TransactionMetadata(
    transactional_id="x",
    producer_id=4000,
    producer_epoch=3,
    timeout_ms=60_000,
    state=TransactionState.PREPARE_COMMIT,
    partitions=frozenset({("t", 0)}),
    start_timestamp_ms=0,
    last_update_timestamp_ms=0,
)


def _loaded(*states: TransactionMetadata | None) -> TransactionMachine:
    machine = TransactionMachine(lambda: 2)
    for offset, stored in enumerate(states):
        machine.replay(TransactionStored("x", stored), offset)
    return machine


def test_the_last_record_of_an_id_wins(caplog: pytest.LogCaptureFixture) -> None:
    complete = _COMMITTING._replace(state=TransactionState.COMPLETE_COMMIT, partitions=frozenset())
    machine = _loaded(_COMMITTING, complete)
    assert machine.transaction("x") == complete
    assert not caplog.records


def test_a_compacted_log_may_begin_anywhere(caplog: pytest.LogCaptureFixture) -> None:
    assert _loaded(_COMMITTING).transaction("x") == _COMMITTING
    assert not caplog.records


def test_prepared_transactions_are_finished_after_loading() -> None:
    assert _loaded(_COMMITTING).prepared() == ["x"]
    assert _loaded(_COMMITTING._replace(state=TransactionState.ONGOING)).prepared() == []


def test_a_tombstone_removes_the_id(caplog: pytest.LogCaptureFixture) -> None:
    machine = _loaded(_COMMITTING._replace(state=TransactionState.COMPLETE_COMMIT), None)
    assert machine.transaction("x") is None
    assert not caplog.records


@pytest.mark.parametrize(
    "after",
    [
        _COMMITTING._replace(state=TransactionState.PREPARE_ABORT),
        _COMMITTING._replace(state=TransactionState.ONGOING),
        _COMMITTING._replace(state=TransactionState.COMPLETE_COMMIT, producer_epoch=2),
        None,
    ],
    ids=["decided anew", "reopened", "an older epoch", "removed"],
)
def test_an_inconsistent_record_is_reported_and_applied(
    after: TransactionMetadata | None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        machine = _loaded(_COMMITTING, after)
    assert len(caplog.records) == 1
    assert "transactional_id=x offset=1 before=" in caplog.text
    assert machine.transaction("x") == after
