"""Filters of events, and their parsing from a query. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from barnabas.broker.insight.history.trace_event import TraceEvent
from barnabas.broker.runtime.events import KINDS
from barnabas.client.near_names import did_you_mean

_PARTITION_LISTS = ("partitions", "offsets", "topics")


class UnknownKind(ValueError):
    """No kind of event has this name or prefix. The message lists the known kinds."""


class TraceFilter(NamedTuple):
    """Conditions on an event, all of which must hold. kinds: full names or prefixes such as `transaction`."""

    kinds: tuple[str, ...] = ()
    transactional_id: str | None = None
    group: str | None = None
    topic: str | None = None
    partition: int | None = None
    client_id: str | None = None
    producer_id: int | None = None

    def has(self, event: TraceEvent) -> bool:
        """Return whether an event matches. Checks the most selective conditions first: some 10,000 events per query."""
        if self.transactional_id is not None and event.fact("transactional_id") != self.transactional_id:
            return False
        if self.group is not None and event.fact("group") != self.group:
            return False
        if self.client_id is not None and event.fact("client_id") != self.client_id:
            return False
        if self.producer_id is not None and not self._is_of_producer(event):
            return False
        if self.kinds and not any(_begins(event.kind, each) for each in self.kinds):
            return False
        return self.topic is None or self._is_of_topic(event)

    def _is_of_producer(self, event: TraceEvent) -> bool:
        value = event.fact("producer_id")
        return value == self.producer_id or str(self.producer_id) in (event.facts.get("producer_ids") or ())

    def _is_of_topic(self, event: TraceEvent) -> bool:
        topic, partition = self.topic, self.partition
        if event.facts.get("topic") == topic:
            return partition is None or event.facts.get("partition", partition) == partition
        named: list[str] = [text for name in _PARTITION_LISTS for text in event.facts.get(name) or ()]
        for text in named:
            where = text.rpartition(":")[0] or text
            if where == topic or (where.rpartition("-")[0] == topic and partition in (None, _number(where))):
                return True
        return False


def wanted(given: Mapping[str, Sequence[str]]) -> TraceFilter:
    """Parse the filter of a query. Raise UnknownKind, or ValueError for an invalid number, each with a sentence."""
    kinds = tuple(kind.strip() for text in given.get("kind", ()) for kind in text.split(",") if kind.strip())
    for kind in kinds:
        if not any(_begins(name, kind) for name in KINDS):
            beginnings = dict.fromkeys(name.partition(".")[0] for name in KINDS)
            meant = did_you_mean(kind, [*beginnings, *KINDS]) or f": there are {', '.join(KINDS)}"
            raise UnknownKind(f"no kind of event is called {kind!r} or begins with it{meant}")
    return TraceFilter(
        kinds,
        transactional_id=_last(given, "transactional_id"),
        group=_last(given, "group"),
        topic=_last(given, "topic"),
        partition=number(given, "partition"),
        client_id=_last(given, "client_id"),
        producer_id=number(given, "producer_id"),
    )


def number(given: Mapping[str, Sequence[str]], name: str) -> int | None:
    """Return a number of a query; None if absent. Raise ValueError with the reason if it is invalid."""
    text = _last(given, name)
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise ValueError(f"{name}={text[:40]} is not a number of 0 or more")
    return int(text)


def _last(given: Mapping[str, Sequence[str]], name: str) -> str | None:
    return (given.get(name) or (None,))[-1]


def _begins(kind: str, wanted: str) -> bool:
    return kind == wanted or kind.startswith(wanted + ".")


def _number(partition: str) -> Any:
    text = partition.rpartition("-")[2]
    return int(text) if text.isdecimal() else None
