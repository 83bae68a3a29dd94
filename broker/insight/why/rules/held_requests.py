"""Requests that a fault holds up: the fault, the request, since when, and how to end it."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.broker.insight.why.rules.answer import WhyAnswer, plain
from barnabas.broker.insight.why.rules.formatting import counted, duration, named

SHOWN_MAX = 5
"""Maximum number with separate sentences."""


class HeldFacts(NamedTuple):
    """A request, or the end of a transaction at a step, that a fault holds up."""

    fault: str
    does: str
    """pause, delay, throttle, drop or lose_answer"""
    held_for_ms: int
    left_ms: int | None = None
    """Until it continues automatically, or its connection is closed."""
    bytes_per_s: int | None = None
    api: str | None = None
    node: int | None = None
    client_id: str | None = None
    client_host: str | None = None
    peer: str | None = None
    point: str | None = None
    """The step at which it is stopped."""
    topics: tuple[str, ...] = ()
    """Names in the request, some of them if there are many; likewise the next two fields."""
    groups: tuple[str, ...] = ()
    transactional_ids: tuple[str, ...] = ()
    partition: int | None = None
    """Of a step of a share partition."""


class HeldRequests(NamedTuple):
    """All requests held up in one context."""

    longest: tuple[HeldFacts, ...]
    """Some if there are many; the longest waiting first."""
    requests_count: int


def sentences(held: HeldRequests | None) -> list[str]:
    """Return a sentence for each request, and one with the number of the others."""
    if held is None:
        return []
    lines = [_sentence(each) for each in held.longest[:SHOWN_MAX]]
    more = held.requests_count - len(lines)
    return [*lines, f"Faults hold up {counted(more, 'more request')} of this."] if more > 0 else lines


def paused_sentence(what: str, held: HeldFacts) -> str:
    """Return that something waits at a step that a fault pauses, and how to end it."""
    so_far = f"for {duration(held.held_for_ms)} so far"
    release = f"`barnabas faults release {held.fault}` resumes it"
    return f"{what} waits at the step {held.point}, paused by fault {held.fault} {so_far}: {release}."


def explain(held: HeldRequests) -> WhyAnswer:
    """Return the answer about everything that a fault holds up."""
    return WhyAnswer(tuple(sentences(held)), {"held": plain(held)})


def _sentence(held: HeldFacts) -> str:
    what, so_far = _what(held), f"for {duration(held.held_for_ms)} so far"
    disarm = f"`barnabas faults disarm {held.fault}`"
    left = "" if held.left_ms is None else f" in {duration(held.left_ms)}, or at once with"
    match held.does:
        case "pause":
            release = f"`barnabas faults release {held.fault}` resumes it"
            return f"{what} is paused by fault {held.fault}, {so_far}: {release}."
        case "delay":
            return f"{what} is delayed by fault {held.fault}, {so_far}: it continues{left} {disarm}."
        case "throttle":
            slow = f"is limited to {held.bytes_per_s} bytes a second by fault {held.fault}"
            return f"{what} {slow}, {so_far}: {disarm} sends the rest at once."
        case "drop":
            return f"{what} was not applied, and {_never(held, so_far)}{left} {disarm}."
        case _:
            return f"{what} was applied, and {_never(held, so_far)}{left} {disarm}."


def _never(held: HeldFacts, so_far: str) -> str:
    return f"is never answered by fault {held.fault}, {so_far}: its connection is closed"


def _what(held: HeldFacts) -> str:
    if held.point is not None and held.groups:
        return f"Work for share group {named(', '.join(held.groups))}, at the step {held.point},"
    if held.point is not None:
        return f"The end of transactional id {named(', '.join(held.transactional_ids))}, at the step {held.point},"
    client = f" of client {named(held.client_id)}" if held.client_id else ""
    return f"{held.api}{client} from {held.peer}"
