"""The history of a broker as a source for queries."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from barnabas.broker.insight.history.history import History
from barnabas.broker.insight.history.trace_filter import TraceFilter
from barnabas.broker.insight.why.sources.history_source import Happened

EVENTS_MAX: Final = 1_000


class TraceHistory:
    """A `HistorySource` over the history."""

    is_kept = True

    def __init__(self, history: History) -> None:
        self._history = history

    def of(self, transactional_id: str, kinds: Collection[str]) -> Sequence[Happened]:
        """Implement `HistorySource.of`."""
        return self._last(TraceFilter(tuple(kinds), transactional_id=transactional_id))

    def of_share_partition(
        self, group_id: str, topic: str, partition: int, kinds: Collection[str]
    ) -> Sequence[Happened]:
        """Implement `HistorySource.of_share_partition`."""
        return self._last(TraceFilter(tuple(kinds), group=group_id, topic=topic, partition=partition))

    def _last(self, wanted: TraceFilter) -> Sequence[Happened]:
        found = self._history.last(wanted, EVENTS_MAX)
        return [Happened(each.kind, each.at_ms, each.facts, each.cause) for each in reversed(found)]
