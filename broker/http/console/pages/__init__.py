"""The pages, and their actions. Each module computes the values of its templates, in plain types."""

from barnabas.broker.http.console.pages import (
    broker,
    clock,
    faults,
    groups,
    messages,
    newest,
    overview,
    partition,
    schemas,
    topics,
    transactions,
    why,
)
from barnabas.broker.http.console.pages.changes import group_changes, producing, topic_changes

PAGES = (
    *overview.PAGES,
    *transactions.PAGES,
    *topics.PAGES,
    *newest.PAGES,  # before the partitions, whose path has any word in the place of `messages`
    *partition.PAGES,
    *messages.PAGES,
    *groups.PAGES,
    *schemas.PAGES,
    *why.PAGES,
    *broker.PAGES,
    *faults.PAGES,
    *clock.PAGES,
)
ACTIONS = (
    *transactions.ACTIONS,
    *topic_changes.ACTIONS,
    *group_changes.ACTIONS,
    *producing.ACTIONS,
    *faults.ACTIONS,
    *clock.ACTIONS,
)
