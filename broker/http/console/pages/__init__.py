"""The pages, and what can be done on them. Each module has what its templates show, in plain values."""

from barnabas.broker.http.console.pages import (
    broker,
    clock,
    faults,
    groups,
    messages,
    partition,
    producing,
    topics,
    transactions,
    why,
)

PAGES = (
    *transactions.PAGES,
    *topics.PAGES,
    *partition.PAGES,
    *messages.PAGES,
    *groups.PAGES,
    *why.PAGES,
    *broker.PAGES,
    *faults.PAGES,
    *clock.PAGES,
)
ACTIONS = (*transactions.ACTIONS, *producing.ACTIONS, *faults.ACTIONS, *clock.ACTIONS)
