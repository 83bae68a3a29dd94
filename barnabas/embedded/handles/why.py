"""Explanations of an embedded broker about what hangs: `print(broker.why.consumer("g"))`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.embedded.answers import Answer, Hanging


class WhyHandle:
    """Explains what hangs, by sentences, the important one first, and evidence. Methods raise BarnabasError."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def __repr__(self) -> str:
        return "<the whys of a Barnabas>"

    def consumer(self, group: str, topic: str | None = None) -> Answer:
        """Explain why a group's consumers get nothing, or stop: from one topic, or from all that they read."""
        return _answer(self._ask("why_consumer", group, topic))

    def producer(self, transactional_id: str) -> Answer:
        """Explain why a transactional producer was fenced or refused, or what its EndTxn waits for."""
        return _answer(self._ask("why_producer", transactional_id))

    def record(self, topic: str, partition: int, offset: int) -> Answer:
        """Explain what happened to a record, and which readers see it."""
        return _answer(self._ask("why_record", topic, partition, offset))

    def group(self, group: str) -> Answer:
        """Explain what a group's rebalance waits for, member by member."""
        return _answer(self._ask("why_group", group))

    def hanging(self) -> Hanging:
        """Explain all that hangs, by name ("group g", "transactional id tx"): some of each; empty if nothing hangs."""
        return Hanging({about: _answer(fields) for about, fields in self._ask("why_hanging").items()})


def _answer(fields: dict[str, Any]) -> Answer:
    return Answer(tuple(fields["sentences"]), fields["evidence"])
