"""The pages, and their actions. Each module computes the values of its templates, in plain types."""

from barnabas.broker.http.console.pages import (
    broker,
    clock,
    faults,
    groups,
    messages,
    overview,
    partition,
    producing,
    topics,
    transactions,
    why,
)

PAGES = (
    *overview.PAGES,
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
