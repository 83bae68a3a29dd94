"""The queries. Facts are collected in slices, and the answer follows from them.

Invariant: however many objects there are, and however many queries run, the event loop is blocked for some
milliseconds at a time, and half of its time stays free.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from barnabas.broker.insight.why.consumers import consumer_facts
from barnabas.broker.insight.why.groups import waiting_facts
from barnabas.broker.insight.why.hanging import LONGER_THAN_MS, hanging
from barnabas.broker.insight.why.producers import producer_facts
from barnabas.broker.insight.why.records import facts_with_schemas
from barnabas.broker.insight.why.rules import consumer, group, producer, record
from barnabas.broker.insight.why.rules.answer import STANDS, WhyAnswer
from barnabas.broker.insight.why.sources.held_requests_source import NOTHING_HELD_UP, HeldUpSource
from barnabas.broker.insight.why.sources.history_source import NO_RING, HistorySource
from barnabas.broker.insight.why.sources.registry_source import RegistrySource, no_registry
from barnabas.broker.insight.why.sources.why_sources import WhySources
from barnabas.broker.runtime.scheduler import Work, WorkClass

if TYPE_CHECKING:
    from barnabas.broker.services import Services

ASKING = WorkClass(under_way_max=2)


class Why:
    """The queries of one broker. An answer is returned at once, or as a future."""

    def __init__(
        self,
        services: Services,
        ring: HistorySource = NO_RING,
        held_up: HeldUpSource = NOTHING_HELD_UP,
        registry: RegistrySource = no_registry,
    ) -> None:
        """Create it. services: of all nodes. ring: the history, if stored. held_up: requests stopped by faults.

        registry: returns the schema registry, if it is served.
        """
        self._known = WhySources(services, ring, held_up, registry)

    def consumer(self, group_id: str, topic: str | None = None) -> WhyAnswer | Future[WhyAnswer]:
        """Explain why a group's consumers receive nothing, or stop: for one topic, or for all that they read."""
        collect = consumer_facts
        return self._answer(
            lambda: collect(self._known, group_id, topic),
            lambda found: self._in_time(consumer.explain(found)),
        )

    def producer(self, transactional_id: str) -> WhyAnswer | Future[WhyAnswer]:
        """Explain why a transactional producer was fenced or refused, or what its EndTxn waits for."""
        return self._answer(
            lambda: producer_facts(self._known, transactional_id),
            lambda found: self._in_time(producer.explain(found)),
        )

    def record(self, topic: str, partition: int, offset: int) -> WhyAnswer | Future[WhyAnswer]:
        """Explain the outcome of a record, and who can see it."""
        collect = facts_with_schemas
        return self._answer(lambda: collect(self._known, topic, partition, offset), record.explain)

    def group(self, group_id: str) -> WhyAnswer | Future[WhyAnswer]:
        """Explain what a group's rebalance waits for, member by member."""
        return self._answer(
            lambda: waiting_facts(self._known, group_id), lambda found: self._in_time(group.explain(found))
        )

    def hanging(self, longer_than_ms: int = LONGER_THAN_MS) -> dict[str, WhyAnswer] | Future[dict[str, WhyAnswer]]:
        """Explain all that hangs, by subject. Of transactions only those that are open for longer than this."""
        return self._known.services.request_scheduler.in_slices(lambda: hanging(self._known, longer_than_ms), ASKING)

    def _in_time(self, answer: WhyAnswer) -> WhyAnswer:
        """Return the answer, extended while the clock is frozen by a sentence that its times do not come."""
        if not self._known.services.clock.is_frozen:
            return answer
        return WhyAnswer((*answer.sentences, STANDS), {**answer.evidence, "clock_is_frozen": True})

    def _answer(
        self, collect: Callable[[], Work[Any]], explain: Callable[[Any], WhyAnswer]
    ) -> WhyAnswer | Future[WhyAnswer]:
        def answer() -> Work[WhyAnswer]:
            facts = yield from collect()
            return explain(facts)

        return self._known.services.request_scheduler.in_slices(answer, ASKING)
