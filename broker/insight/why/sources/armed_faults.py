"""The broker's faults as a source for queries about held-up requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.broker.control.faults.held_requests import HoldReason
from barnabas.broker.control.faults.model import RequestAction
from barnabas.broker.insight.why.rules.held_requests import HeldFacts

if TYPE_CHECKING:
    from barnabas.broker.control.faults.armed import Armed
    from barnabas.broker.control.faults.faults import Faults
    from barnabas.broker.control.faults.held_requests import HeldUp
    from barnabas.broker.services import Deferred


class ArmedFaults:
    """A `HeldUpSource` over the broker's faults. Faults that were never used hold nothing up, and are not built."""

    def __init__(self, faults: Deferred[Faults]) -> None:
        self._faults = faults

    def requests(self) -> Iterator[HeldFacts]:
        """Implement `HeldUpSource.requests`."""
        return (each for each in self._every() if each.point is None)

    def steps(self) -> Iterator[HeldFacts]:
        """Implement `HeldUpSource.steps`."""
        return (each for each in self._every() if each.point is not None)

    def _every(self) -> Iterator[HeldFacts]:
        faults = self._faults.built
        if faults is not None:
            for armed in faults.registry.every():
                for each in armed.held_up():
                    yield _facts(armed, each, faults.registry.now_ms())


def _facts(armed: Armed, held: HeldUp, now_ms: int) -> HeldFacts:
    about, action = held.about, armed.fault.action
    return HeldFacts(
        fault=armed.name,
        does=_does(held.why, action),
        held_for_ms=now_ms - about.since_ms,
        left_ms=None
        if held.until_ms is None or held.why is HoldReason.THROTTLED
        else max(0, round(held.until_ms - now_ms)),
        bytes_per_s=action.throttle if isinstance(action, RequestAction) else None,
        api=about.api,
        node=about.node,
        client_id=about.client_id,
        client_host=about.client_host,
        peer=about.peer,
        point=about.point,
        topics=about.topics,
        groups=about.groups,
        transactional_ids=about.transactional_ids,
        partition=about.facts.get("partition"),
    )


def _does(why: HoldReason, action: object) -> str:
    if why is HoldReason.UNANSWERED:
        return "drop" if isinstance(action, RequestAction) and action.drop else "lose_answer"
    return {HoldReason.PAUSED: "pause", HoldReason.DELAYED: "delay", HoldReason.THROTTLED: "throttle"}[why]
