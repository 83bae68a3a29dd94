"""Selection of the requests held up by faults that concern a query: by the names in them, and by their client."""

from __future__ import annotations

from collections.abc import Callable, Collection
from heapq import nlargest
from itertools import chain

from barnabas.broker.insight.why.rules.held_requests import HeldFacts, HeldRequests
from barnabas.broker.insight.why.sources.refused_clients import Client
from barnabas.broker.insight.why.sources.why_sources import WhySources
from barnabas.storage.steps import Steps

HELD_MAX = 20
"""Maximum number reported in one answer; those that wait longest are chosen."""
_A_STEP = 200


def held_requests(known: WhySources, is_meant: Callable[[HeldFacts], bool]) -> Steps[HeldRequests | None]:
    """Return the requests that match, in steps; None if there are none."""
    found = _Found()
    for number, each in enumerate(known.held_up.requests()):
        if is_meant(each):
            found.add(each)
        if number % _A_STEP == _A_STEP - 1:
            yield
    return found.together() if found.count else None


def held_step(known: WhySources, transactional_id: str, point: str) -> HeldFacts | None:
    """Return the end of a transaction that is stopped at this step."""
    for each in known.held_up.steps():
        if each.point == point and transactional_id in each.transactional_ids:
            return each
    return None


def held_share_steps(known: WhySources, topic: str, partition: int) -> dict[str, list[HeldFacts]]:
    """Return the work for a partition's share groups that is stopped at steps, by group."""
    found: dict[str, list[HeldFacts]] = {}
    for each in known.held_up.steps():
        if each.groups and (each.topics, each.partition) == ((topic,), partition):
            found.setdefault(each.groups[0], []).append(each)
    return found


def held_by_fault(known: WhySources, faults_max: int) -> Steps[dict[str, HeldRequests]]:
    """Return, in steps, everything held up, by the name of the fault, of at most `faults_max` faults."""
    found: dict[str, _Found] = {}
    for number, each in enumerate(chain(known.held_up.steps(), known.held_up.requests())):
        if each.fault in found or len(found) < faults_max:
            found.setdefault(each.fault, _Found()).add(each)
        if number % _A_STEP == _A_STEP - 1:
            yield
    return {fault: held.together() for fault, held in found.items()}


def comes_from(held: HeldFacts, clients: Collection[Client]) -> bool:
    """Return whether one of these clients sent the request."""
    return (held.client_id or "", (held.client_host or "").lstrip("/")) in clients


class _Found:
    """The requests that wait longest, and the total count."""

    def __init__(self) -> None:
        self.count = 0
        self._held: list[HeldFacts] = []

    def add(self, held: HeldFacts) -> None:
        self.count += 1
        self._held.append(held)
        if len(self._held) == 2 * HELD_MAX:
            self._held = _longest(self._held)

    def together(self) -> HeldRequests:
        return HeldRequests(tuple(_longest(self._held)), self.count)


def _longest(held: list[HeldFacts]) -> list[HeldFacts]:
    return nlargest(HELD_MAX, held, key=lambda each: each.held_for_ms)
