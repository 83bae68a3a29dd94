"""The table of states is total, agrees with its diagram, and with what Kafka calls legal."""

from itertools import product

import pytest

from barnabas.broker.coordinator.runtime.transitions import Go, Never
from barnabas.broker.coordinator.transaction.decisions.next_state import on
from barnabas.broker.coordinator.transaction.decisions.states import (
    LEGAL_TRANSITIONS,
    TABLE,
    TransactionEvent,
    TransactionState,
)

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT, DEAD, PREPARE_EPOCH_FENCE = (
    TransactionState
)


def test_every_event_has_a_meaning_in_every_state() -> None:
    assert set(TABLE) == set(product(TransactionState, TransactionEvent))


def test_the_moves_are_those_of_the_diagram() -> None:
    at_rest = (EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT)
    assert {
        *product(at_rest, (EMPTY, ONGOING, PREPARE_ABORT, DEAD)),
        *product((ONGOING,), (ONGOING, PREPARE_COMMIT, PREPARE_ABORT)),
        (PREPARE_COMMIT, COMPLETE_COMMIT),
        (PREPARE_ABORT, COMPLETE_ABORT),
    } == LEGAL_TRANSITIONS


def test_the_numbers_on_disk_are_kafkas() -> None:
    assert [state.id for state in TransactionState] == list(range(8))


def test_a_started_transaction_is_open_until_it_is_complete() -> None:
    assert [state for state in TransactionState if state.is_open] == [ONGOING, PREPARE_COMMIT, PREPARE_ABORT]


def test_a_prepared_transaction_completes_only_with_its_decision() -> None:
    for state in (PREPARE_COMMIT, PREPARE_ABORT):
        events = [event for (at, event), meaning in TABLE.items() if at is state and isinstance(meaning, Go)]
        assert events == [TransactionEvent.MARKED]


def test_nothing_is_ever_in_the_states_that_are_only_names() -> None:
    assert all(
        isinstance(TABLE[state, event], Never) for state in (DEAD, PREPARE_EPOCH_FENCE) for event in TransactionEvent
    )


def test_impossible_states_are_asserted() -> None:
    with pytest.raises(AssertionError, match="markers are only written for a prepared transaction"):
        on(ONGOING, TransactionEvent.MARKED)
