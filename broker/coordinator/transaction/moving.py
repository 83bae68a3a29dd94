"""How a decision about a transaction is put: the transaction it leads to, and the outcome that writes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from broker.coordinator.outcome import Effect, FinishTransaction, Outcome
from broker.coordinator.transaction.model import Transaction, TransactionOutcome, TransactionStored
from broker.coordinator.transaction.states import Event, Go, on


def moved(txn: Transaction, event: Event, *, now_ms: int, **changes: Any) -> Transaction:
    """The transaction after an event that moves it.

    As in Kafka every move leaves behind which producer id the transaction had before it, which nearly always is the
    one it still has.
    """
    move = on(txn.state, event)
    assert isinstance(move, Go), f"{event.name} does not move a transaction in {txn.state.value}"
    changes.setdefault("previous_producer_id", txn.producer_id)
    return replace(txn, state=move.state, last_update_timestamp_ms=now_ms, **changes)


def written(txn: Transaction, reply: Any = None) -> TransactionOutcome:
    """The outcome that stores `txn`, has it finished if it is prepared, and answers `reply`."""
    effects: tuple[Effect, ...] = (FinishTransaction(),) if txn.state.is_prepared else ()
    return Outcome(records=(TransactionStored(txn.transactional_id, txn),), reply=reply, effects=effects)
