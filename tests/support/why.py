"""Asking a broker in memory why, and waiting for the answer."""

from collections.abc import Collection, Mapping
from typing import Any

from barnabas.broker.insight.why.rules.answer import WhyAnswer
from barnabas.broker.insight.why.sources.held_requests_source import NOTHING_HELD_UP, HeldUpSource
from barnabas.broker.insight.why.sources.history_source import NO_RING, Happened, HistorySource
from barnabas.broker.insight.why.sources.registry_source import RegistrySource, no_registry
from barnabas.broker.insight.why.why import Why
from barnabas.broker.runtime.events import EventKind
from barnabas.broker.services import Services
from tests.support.inspected_broker import now
from tests.support.worlds.broker import BrokerWorld


class Asked:
    """The questions, answered."""

    def __init__(
        self,
        services: Services,
        ring: HistorySource = NO_RING,
        held_up: HeldUpSource = NOTHING_HELD_UP,
        registry: RegistrySource = no_registry,
    ) -> None:
        self._why = Why(services, ring, held_up, registry)

    async def consumer(self, group: str, topic: str | None = None) -> WhyAnswer:
        return checked(await now(self._why.consumer(group, topic)))

    async def producer(self, transactional_id: str) -> WhyAnswer:
        return checked(await now(self._why.producer(transactional_id)))

    async def record(self, topic: str, partition: int, offset: int) -> WhyAnswer:
        return checked(await now(self._why.record(topic, partition, offset)))

    async def group(self, group: str) -> WhyAnswer:
        return checked(await now(self._why.group(group)))

    async def hanging(self) -> dict[str, WhyAnswer]:
        found: dict[str, WhyAnswer] = await now(self._why.hanging())
        return {about: checked(answer) for about, answer in found.items()}


def checked(answer: Any) -> WhyAnswer:
    """Every answer has sentences, in lines that end as such, and plain evidence."""
    assert isinstance(answer, WhyAnswer)
    assert answer.sentences
    for sentence in answer.sentences:
        assert "\n" not in sentence
        assert sentence.endswith((".", "?", "…")), sentence
    check_plain(answer.as_json())
    return answer


def check_plain(value: Any) -> None:
    """Nothing but what JSON has."""
    if isinstance(value, dict):
        assert all(type(key) is str for key in value)
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            check_plain(each)
    else:
        assert value is None or type(value) in (str, int, float, bool), value


class RememberedEvents:
    """A `HistorySource` over all events of a broker."""

    is_kept = True

    def __init__(self, world: BrokerWorld) -> None:
        self._world = world
        self.happened: list[Happened] = []
        world.services.events.listen(self._hear)

    def _hear(self, kind: EventKind, facts: Mapping[str, Any]) -> None:
        cause = self._world.services.events.cause
        at_ms = self._world.services.clock.now_ms()
        self.happened.append(Happened(kind.name, at_ms, dict(facts), {} if cause is None else cause.facts()))

    def of_share_partition(self, group_id: str, topic: str, partition: int, kinds: Collection[str]) -> list[Happened]:
        where = {"group": group_id, "topic": topic, "partition": partition}
        return [each for each in reversed(self.happened) if each.kind in kinds and where.items() <= each.facts.items()]

    def of(self, transactional_id: str, kinds: Collection[str]) -> list[Happened]:
        return [
            each
            for each in reversed(self.happened)
            if each.kind in kinds and {**each.cause, **each.facts}.get("transactional_id") == transactional_id
        ]
