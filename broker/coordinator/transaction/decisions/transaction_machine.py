# compiled: mypyc
"""The transactions of one partition of `__transaction_state`: the state that replay builds from its records.

Driven by the runtime (`runtime.Machine`). Only `replay` changes it, at run time and at start alike. There is no
volatile state except `last_producer_epoch`, which is lost at a restart, as in Kafka.

The log may come from another broker, or from a release with a bug: everything that Kafka would load is loaded, the last
record of an id wins, and a transition that is not in the table of states is logged. At a start only the last record of
each id is replayed, so that records before it are neither known nor logged.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.broker.coordinator.runtime.outcome import TimerKey
from barnabas.broker.coordinator.transaction.decisions import records
from barnabas.broker.coordinator.transaction.decisions.model import (
    TransactionMetadata,
    TransactionOutcome,
    TransactionStored,
)
from barnabas.broker.coordinator.transaction.decisions.states import LEGAL_TRANSITIONS, TransactionState
from barnabas.broker.runtime.log_lines import line, logger

_log = logger("coordinator")


class TransactionMachine:
    """All transactional ids of one partition."""

    records_are_whole = True
    """Each record replaces the whole state of its id."""

    def __init__(self, transaction_version: Callable[[], int]) -> None:
        """Create an empty machine. `transaction_version` returns the feature level: it sets the version of records."""
        self.transactions: dict[str, TransactionMetadata] = {}
        self._transaction_version = transaction_version

    def transaction(self, transactional_id: str) -> TransactionMetadata | None:
        """Return the current transaction, or None for an unused id."""
        return self.transactions.get(transactional_id)

    def prepared(self) -> list[str]:
        """Return the ids with a prepared transaction that is not complete: after loading these are finished first."""
        return [transactional_id for transactional_id, txn in self.transactions.items() if txn.state.is_prepared]

    # Called by the runtime

    def encode(self, record: TransactionStored) -> tuple[bytes, bytes | None]:
        return records.encode(record, self._transaction_version())

    def decode(self, key: bytes | None, value: bytes | None) -> TransactionStored | None:
        return records.decode(key, value)

    def replay(self, record: TransactionStored, record_offset: int, producer_id: int = -1) -> None:
        transactional_id, after = record
        before = self.transactions.get(transactional_id)
        if before is not None:
            self._notice(before, after, record_offset)
        if after is None:
            self.transactions.pop(transactional_id, None)
        else:
            self.transactions[transactional_id] = after

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """Do nothing: there are no transactional records in this topic."""

    def install(self, entity_id: str, volatile: None) -> None:
        """Do nothing: there is no volatile state."""

    def timer_fired(self, entity_id: str, timer: TimerKey, now_ms: int) -> TransactionOutcome:
        """Raise AssertionError: no decision sets a timer. Timeouts and expiration are checked at intervals."""
        raise AssertionError(f"a transaction has no timer {timer.kind}")

    def _notice(self, before: TransactionMetadata, after: TransactionMetadata | None, record_offset: int) -> None:
        state = TransactionState.DEAD if after is None else after.state
        is_odd = (before.state, state) not in LEGAL_TRANSITIONS
        if after is not None and after.producer_id == before.producer_id:
            is_odd = is_odd or after.producer_epoch < before.producer_epoch
        if is_odd:
            _log.warning(
                line(
                    "odd transaction record",
                    transactional_id=before.transactional_id,
                    offset=record_offset,
                    before=f"{before.state.value} {before.producer_id}/{before.producer_epoch}",
                    after=state.value if after is None else f"{state.value} {after.producer_id}/{after.producer_epoch}",
                )
            )
