"""Transactions: how many are in which state, how long the oldest is open, how they ended."""

from __future__ import annotations

from collections import Counter

from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.http.metrics.sources import Readings, Sources
from barnabas.broker.insight.inspection.transactions import ended, is_open, loaded_transactions, started_ms
from barnabas.storage.steps import Steps

_SLICE = 2_000  # transactions read in a step
_NEVER_SEEN = (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)


def read_transactions(sources: Sources, readings: Readings) -> Steps[None]:
    """Add the values of transactions."""
    services = sources.services
    states: Counter[TransactionState] = Counter()
    oldest_ms = now_ms = services.clock.now_ms()
    still_open = 0
    so_far = ended(services)
    for number, txn in enumerate(loaded_transactions(services), start=1):
        states[txn.state] += 1
        if is_open(txn):
            still_open += 1
            begun_ms = started_ms(txn)
            oldest_ms = oldest_ms if begun_ms is None else min(oldest_ms, begun_ms)
        if number % _SLICE == 0:
            yield
    for state in TransactionState:
        if state not in _NEVER_SEEN:
            readings.add("barnabas_transactions", states[state], state.value)
    readings.add("barnabas_transactions_open", still_open)
    readings.add("barnabas_transactions_oldest_open_seconds", (now_ms - oldest_ms) / 1000)
    readings.add("barnabas_transactions_completed_total", so_far.committed, "commit")
    readings.add("barnabas_transactions_completed_total", so_far.aborted, "abort")
    readings.add("barnabas_transactions_timed_out_total", so_far.timed_out)
