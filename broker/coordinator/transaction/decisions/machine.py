"""The transactions of one partition of `__transaction_state`: what replaying its records builds.

What the runtime drives (`runtime.Machine`). `replay` is the only writer, at run time and at start alike. There is no
volatile state: what is stored is all there is, but for `last_producer_epoch`, which a restart forgets as in Kafka.

A log may have been written by another broker, or by a release with a bug: whatever Kafka would load is loaded, the
last record of an id wins, and a transition that the table of states does not have is logged. At a start only the last
record of each id is replayed, so that nothing is known, or logged, of those before it.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.broker.coordinator.runtime.outcome import TimerKey
from barnabas.broker.coordinator.transaction.decisions import records
from barnabas.broker.coordinator.transaction.decisions.model import Transaction, TransactionOutcome, TransactionStored
from barnabas.broker.coordinator.transaction.decisions.states import LEGAL_TRANSITIONS, TransactionState
from barnabas.broker.runtime.log_lines import line, logger

_log = logger("coordinator")


class TransactionMachine:
    """All transactional ids of one partition."""

    records_are_whole = True
    """Each record replaces all that was said of its id."""

    def __init__(self, transaction_version: Callable[[], int]) -> None:
        """`transaction_version` is the feature level at the moment: it says which version records are written in."""
        self.transactions: dict[str, Transaction] = {}
        self.oddities_count = 0
        """How many records did not follow from those before them."""
        self._transaction_version = transaction_version

    def transaction(self, transactional_id: str) -> Transaction | None:
        """The transaction as it now is, or None for an id nobody uses."""
        return self.transactions.get(transactional_id)

    def prepared(self) -> list[str]:
        """The ids whose transaction is decided and not complete: after loading they have to be finished first."""
        return [transactional_id for transactional_id, txn in self.transactions.items() if txn.state.is_prepared]

    # What the runtime asks

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
        """Nobody writes transactionally into this topic."""

    def install(self, entity_id: str, volatile: None) -> None:
        """There is nothing volatile."""

    def timer_fired(self, entity_id: str, timer: TimerKey, now_ms: int) -> TransactionOutcome:
        """No decision sets a timer: timeouts and expiry are looked for at intervals."""
        raise AssertionError(f"a transaction has no timer {timer.kind}")

    def _notice(self, before: Transaction, after: Transaction | None, record_offset: int) -> None:
        state = TransactionState.DEAD if after is None else after.state
        is_odd = (before.state, state) not in LEGAL_TRANSITIONS
        if after is not None and after.producer_id == before.producer_id:
            is_odd = is_odd or after.producer_epoch < before.producer_epoch
        if is_odd:
            self.oddities_count += 1
            _log.warning(
                line(
                    "odd transaction record",
                    transactional_id=before.transactional_id,
                    offset=record_offset,
                    before=f"{before.state.value} {before.producer_id}/{before.producer_epoch}",
                    after=state.value if after is None else f"{state.value} {after.producer_id}/{after.producer_epoch}",
                )
            )
