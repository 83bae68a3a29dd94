"""The rules that every history has to keep, each a function from the history to what breaks it."""

from __future__ import annotations

from tests.simulation.checkers.records import duplicates, inconsistent_offsets, lost_writes, reordered_sends
from tests.simulation.checkers.transactions import aborted_reads, early_reads, lost_commits, torn_transactions
from tests.simulation.history import Finding, History

CHECKERS = (
    lost_writes,
    duplicates,
    inconsistent_offsets,
    reordered_sends,
    aborted_reads,
    early_reads,
    lost_commits,
    torn_transactions,
)


def check(history: History) -> list[Finding]:
    """Everything that any rule finds."""
    return [Finding(checker.__name__, text) for checker in CHECKERS for text in checker(history)]
