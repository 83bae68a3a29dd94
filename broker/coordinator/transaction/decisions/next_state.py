# compiled: mypyc
"""The meaning of an event, the next state of a transaction that it changes, and the outcome that stores it.

A transaction changes three times, so `moved` names the fields one by one: any general way takes twice as long.
"""

from __future__ import annotations

from typing import Any, Final

from barnabas.broker.coordinator.runtime.outcome import Effect, FinishTransaction, Outcome
from barnabas.broker.coordinator.runtime.transitions import Go, Never, Proceed, Say
from barnabas.broker.coordinator.transaction.decisions.model import (
    TopicPartition,
    TransactionMetadata,
    TransactionOutcome,
    TransactionStored,
)
from barnabas.broker.coordinator.transaction.decisions.states import TABLE, TransactionEvent, TransactionState

_FINISH: Final[tuple[Effect, ...]] = (FinishTransaction(),)
_NO_EFFECTS: Final[tuple[Effect, ...]] = ()
_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor


def on(state: TransactionState, event: TransactionEvent) -> Go[TransactionState] | Proceed | Say:
    """Return the meaning of `event` in `state`. Raises AssertionError for an impossible combination."""
    meaning = TABLE[state, event]
    assert not isinstance(meaning, Never), f"{event.name} in {state.value}: {meaning.why}"
    return meaning


def moved(
    txn: TransactionMetadata,
    event: TransactionEvent,
    *,
    now_ms: int,
    producer_id: int | None = None,
    producer_epoch: int | None = None,
    timeout_ms: int | None = None,
    previous_producer_id: int | None = None,
    next_producer_id: int | None = None,
    next_producer_epoch: int | None = None,
    last_producer_epoch: int | None = None,
    partitions: frozenset[TopicPartition] | None = None,
    start_timestamp_ms: int | None = None,
    client_transaction_version: int | None = None,
) -> TransactionMetadata:
    """Return the transaction after an event that changes it; None leaves a field unchanged.

    As in Kafka every change records the transaction's previous producer id, which nearly always is the current one.
    """
    meaning = on(txn.state, event)
    assert isinstance(meaning, Go), f"{event.name} does not move a transaction in {txn.state.value}"
    # The fields in their order, several on a line.
    # fmt: off
    (transactional_id, old_id, old_epoch, old_timeout, _, _, _, old_next_id, old_next_epoch, old_last_epoch,
     old_partitions, old_start, old_version) = txn
    # fmt: on
    fields = (
        transactional_id,
        old_id if producer_id is None else producer_id,
        old_epoch if producer_epoch is None else producer_epoch,
        old_timeout if timeout_ms is None else timeout_ms,
        meaning.state,
        now_ms,
        old_id if previous_producer_id is None else previous_producer_id,
        old_next_id if next_producer_id is None else next_producer_id,
        old_next_epoch if next_producer_epoch is None else next_producer_epoch,
        old_last_epoch if last_producer_epoch is None else last_producer_epoch,
        old_partitions if partitions is None else partitions,
        old_start if start_timestamp_ms is None else start_timestamp_ms,
        old_version if client_transaction_version is None else client_transaction_version,
    )
    return _new_tuple(TransactionMetadata, fields)


def written(txn: TransactionMetadata, reply: Any = None) -> TransactionOutcome:
    """Return the outcome that stores `txn`, finishes it if it is prepared, and replies `reply`."""
    effects = _FINISH if txn.state.is_prepared else _NO_EFFECTS
    stored = _new_tuple(TransactionStored, (txn.transactional_id, txn))
    return _new_tuple(Outcome, ((stored,), None, None, reply, effects, None, None))
