"""What became of a record in the share groups that read its partition: how often delivered, to whom, how it ended."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from barnabas.broker.insight.why.rules.formatting import counted, duration, moment, named
from barnabas.broker.insight.why.rules.held_requests import HeldFacts, paused_sentence

_ENDS_SHOWN = 3
SHOWN_MAX = 5
"""Maximum number of share groups with separate sentences."""


class DeliveryStatus(StrEnum):
    """The state of a record in a share group."""

    NOT_REACHED = "not reached"
    AVAILABLE = "available"
    ACQUIRED = "acquired"
    ACKNOWLEDGED = "acknowledged"
    ARCHIVED = "archived"
    ARCHIVING = "archiving"
    """Archived once its dead letter is written."""
    DONE = "done"
    """Acknowledged or archived: the stored state does not say which."""
    LOADING = "loading"


_ENDS = {
    DeliveryStatus.ACKNOWLEDGED: "it was accepted",
    DeliveryStatus.ARCHIVING: "it was given up",
    DeliveryStatus.ARCHIVED: "it was archived",
}


class DeliveryStep(NamedTuple):
    """A stored event about a record in a share group."""

    kind: str
    """The last part of the event's name, for example acquired."""
    at_ms: int
    member_id: str | None = None
    client_id: str | None = None
    delivery_count: int | None = None
    type: str | None = None
    """Of an acknowledgement: accept, release, reject, renew, gap."""
    why: str | None = None
    start_offset: int | None = None
    """Of a reset: where the group begins in the partition; None or negative where its settings say."""
    skips: bool = False
    """Of a reset: whether the group begins after the record."""
    dead_letter: str | None = None
    """Where the dead letter is, as topic:partition:offset."""


class GroupDelivery(NamedTuple):
    """A record in one share group."""

    group: str
    status: DeliveryStatus
    is_used: bool
    """Whether members fetch from the partition now; if not, the stored state is the whole truth."""
    start_offset: int | None = None
    delivery_count: int = 0
    delivery_count_limit: int = 0
    member_id: str | None = None
    lock_left_ms: int | None = None
    is_being_stored: bool = False
    held: HeldFacts | None = None
    """Where a fault pauses what is being done with the record."""
    steps: tuple[DeliveryStep, ...] = ()
    """The last ones that are known, the newest first. Of a record that was not reached: only if it was once."""


def delivery_sentences(groups: tuple[GroupDelivery, ...]) -> list[str]:
    """Return what became of the record, group by group."""
    lines = [sentence for each in groups[:SHOWN_MAX] for sentence in _of_group(each)]
    if len(groups) > SHOWN_MAX:
        lines.append(f"{counted(len(groups) - SHOWN_MAX, 'more share group')} read the partition.")
    return lines


def _of_group(facts: GroupDelivery) -> list[str]:
    group, status = f"share group {named(facts.group)}", facts.status
    number = f"{facts.delivery_count} of at most {facts.delivery_count_limit}"
    match status:
        case DeliveryStatus.LOADING:
            return [f"In {group} its state is being loaded.", *_paused(facts)]
        case DeliveryStatus.NOT_REACHED:
            since = "yet" if not facts.steps else "since a reset of the group's offsets"
            first = f"In {group} it was not delivered {since}. The group is at offset {facts.start_offset}."
        case DeliveryStatus.ACQUIRED:
            left = "" if facts.lock_left_ms is None else f", for {duration(facts.lock_left_ms)} more"
            first = f"In {group} member {_member(facts)} holds it{left}: delivery {number}."
        case DeliveryStatus.AVAILABLE:
            reader = "any member can acquire it" if facts.is_used else "no member fetches from the partition now"
            first = f"In {group} it can be delivered again, after {number} deliveries: {reader}."
        case DeliveryStatus.ARCHIVING:
            when = "now" if facts.is_used else "when a member fetches from the partition again"
            first = f"In {group} it is not delivered again{_counted(facts)}, and its dead letter is written {when}."
        case DeliveryStatus.DONE if _was_skipped(facts.steps):
            first = f"In {group} it was skipped by a reset of the group's offsets, and is not delivered."
        case _:
            first = f"In {group} it is done, and is not delivered again{_counted(facts)}."
    stored = " That is being stored, and fetches do not see it yet." if facts.is_being_stored else ""
    return [first + stored, *_paused(facts), *_history(facts)]


def _paused(facts: GroupDelivery) -> list[str]:
    if facts.held is None:
        return []
    if facts.status is DeliveryStatus.LOADING:
        what = "That"
    else:
        what = "This change" if facts.is_being_stored else "Its dead letter"
    return [paused_sentence(what, facts.held)]


def _was_skipped(steps: tuple[DeliveryStep, ...]) -> bool:
    """Return whether a reset skipped the record before it had come to an end."""
    return (
        bool(steps) and steps[0].skips and not any(each.kind == "archived" or each.type == "accept" for each in steps)
    )


def _counted(facts: GroupDelivery) -> str:
    how = _ENDS.get(facts.status)
    if how is None:
        return ""
    deliveries = "1 delivery" if facts.delivery_count == 1 else f"{facts.delivery_count} deliveries"
    return f": {how} after {deliveries}"


def _history(facts: GroupDelivery) -> list[str]:
    if not facts.steps:
        return []
    left = {"acquired": 0 if facts.status is DeliveryStatus.ACQUIRED else 1, "other": _ENDS_SHOWN}
    shown = []
    for step in facts.steps:
        sort = "acquired" if step.kind == "acquired" else "other"
        if left[sort]:
            left[sort] -= 1
            sentence = _step(step)
            shown.append(f"{sentence[:1].upper()}{sentence[1:]}.")
    return shown[::-1]


def _step(step: DeliveryStep) -> str:
    at = moment(step.at_ms)
    match step.kind:
        case "acquired":
            return f"it was acquired last at {at}, by member {_who(step)}"
        case "acknowledged":
            how = {"accept": "accepted", "release": "released", "reject": "rejected", "renew": "renewed its lock on"}
            return f"member {_who(step)} {how.get(step.type or '', 'skipped')} it at {at}"
        case "lock_ended":
            return f"the lock of member {_who(step)} ended at {at}"
        case "released":
            return f"the session of member {_who(step)} ended at {at}"
        case "reset":
            return _reset(step)
        case "dead_letters_written":
            return f"its dead letter is {named(step.dead_letter or '')}"
        case "dead_letters_lost":
            return f"its dead letter was lost at {at}: {step.why}"
        case _:
            return f"it was archived at {at}: {step.why}"


def _reset(step: DeliveryStep) -> str:
    by = "" if step.client_id is None else f" by client {named(step.client_id)}"
    at = f"at {moment(step.at_ms)}{by}"
    if step.start_offset is None:
        return f"the group's offset was deleted {at}: the group began again where its settings say"
    if step.start_offset < 0:
        return f"the group's offset was reset {at}, to where its settings say"
    return f"the group's offset was reset {at}, to {step.start_offset}"


def _member(facts: GroupDelivery) -> str:
    acquired = next((each for each in facts.steps if each.kind == "acquired"), None)
    if acquired is not None and acquired.member_id == facts.member_id:
        return _who(acquired)
    return named(facts.member_id or "")


def _who(step: DeliveryStep) -> str:
    client = "" if step.client_id is None else f" (client {named(step.client_id)})"
    return f"{named(step.member_id or '')}{client}"
