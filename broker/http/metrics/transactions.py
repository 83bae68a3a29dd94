"""Transactions: how many are in which state, how long the oldest is open, how they ended."""

from __future__ import annotations

from collections import Counter

from barnabas.broker.coordinator.transaction.model import NO_TIMESTAMP
from barnabas.broker.coordinator.transaction.states import TransactionState
from barnabas.broker.http.metrics.sources import Readings, Sources
from barnabas.broker.turns import let_others_run
from barnabas.protocol.files.names import TRANSACTION_STATE_TOPIC

_SLICE = 2_000  # transactions looked at before others have their turn
_NEVER_SEEN = (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)


async def read_transactions(sources: Sources, readings: Readings) -> None:
    """Add what is told of transactions."""
    services = sources.services
    states: Counter[TransactionState] = Counter()
    oldest_ms = now_ms = services.clock.now_ms()
    committed = aborted = timed_out = 0
    if TRANSACTION_STATE_TOPIC in services.catalogue.topics:
        coordinator = services.transactions
        ended = coordinator.completions
        committed, aborted, timed_out = ended.committed, ended.aborted, coordinator.timed_out
        found = [txn for partition in coordinator.loaded() for txn in partition.machine.transactions.values()]
        for number, txn in enumerate(found, start=1):
            states[txn.state] += 1
            is_open = txn.state is TransactionState.ONGOING or txn.state.is_prepared
            if is_open and txn.start_timestamp_ms != NO_TIMESTAMP:
                oldest_ms = min(oldest_ms, txn.start_timestamp_ms)
            if number % _SLICE == 0:
                await let_others_run(services.clock)
    for state in TransactionState:
        if state not in _NEVER_SEEN:
            readings.add("barnabas_transactions", states[state], state.value)
    still_open = sum(count for state, count in states.items() if state is TransactionState.ONGOING or state.is_prepared)
    readings.add("barnabas_transactions_open", still_open)
    readings.add("barnabas_transactions_oldest_open_seconds", (now_ms - oldest_ms) / 1000)
    readings.add("barnabas_transactions_completed_total", committed, "commit")
    readings.add("barnabas_transactions_completed_total", aborted, "abort")
    readings.add("barnabas_transactions_timed_out_total", timed_out)
