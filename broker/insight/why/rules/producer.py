"""Why a transactional producer was fenced or refused, or what its EndTxn waits for."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.broker.insight.why.rules.answer import WhyAnswer, evidence
from barnabas.broker.insight.why.rules.formatting import duration, listed, moment, named
from barnabas.broker.insight.why.rules.held_requests import HeldRequests
from barnabas.broker.insight.why.rules.held_requests import sentences as held_sentences
from barnabas.broker.insight.why.rules.refused_clients import RefusedClients, beside
from barnabas.broker.insight.why.rules.transaction import TransactionFacts, waits_for


class RecordedEvent(NamedTuple):
    """An event of the transactional id, from the history."""

    at_ms: int
    ago_ms: int
    request: str | None = None
    """Name of the API."""
    error: str | None = None
    why: str | None = None
    """Why it was refused, as a sentence without its end."""
    client_id: str | None = None
    peer: str | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    """The epoch in the request; for an InitProducerId the new epoch."""
    epoch_before: int | None = None
    """Of an InitProducerId only."""


class ProducerFacts(NamedTuple):
    """A transactional id, and its history."""

    transactional_id: str
    unavailable: str | None = None
    """Why its coordinator is unavailable."""
    exists: bool = True
    near: str | None = None
    """An id that is similar to this one, if this one does not exist."""
    state: str | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    timeout_ms: int | None = None
    updated_ago_ms: int | None = None
    partitions: tuple[str, ...] = ()
    partitions_count: int = 0
    transaction: TransactionFacts | None = None
    """The open transaction."""
    refused: RecordedEvent | None = None
    """Its last request that was refused."""
    fenced: RecordedEvent | None = None
    """The last InitProducerId by which another producer fenced it."""
    timed_out: RecordedEvent | None = None
    """The last abort of one of its transactions for the timeout."""
    held: HeldRequests | None = None
    """Its requests that faults hold up."""
    kept_out: RefusedClients | None = None
    """Recent refusals of its clients."""
    expired: RecordedEvent | None = None
    """When the id was removed, if it does not exist."""
    has_history: bool = False
    """Whether a history is stored."""


def explain(facts: ProducerFacts) -> WhyAnswer:
    """Return the answer to `why producer`."""
    return WhyAnswer((*held_sentences(facts.held), *beside(facts.kept_out, _sentences(facts))), evidence(facts))


def _sentences(facts: ProducerFacts) -> list[str]:
    name = named(facts.transactional_id)
    if facts.unavailable is not None:
        return [f"The coordinator of transactional id {name} is not available: {facts.unavailable}."]
    if not facts.exists:
        is_denied = facts.kept_out is not None and bool(facts.kept_out.denials)
        meant = "" if facts.near is None else f" (did you mean {named(facts.near)}?)"
        return [*_refusal(name, facts), _missing(f"{name}{meant}", facts.expired, is_denied)]
    return [*_refusal(name, facts), *_now(name, facts)]


def _missing(name: str, expired: RecordedEvent | None, is_denied: bool) -> str:
    if expired is None and is_denied:
        return f"There is no transactional id {name}."
    if expired is None:
        return f"There is no transactional id {name}: no producer sent InitProducerId for it, or it expired."
    return (
        f"There is no transactional id {name}: it expired {duration(expired.ago_ms)} ago, at {moment(expired.at_ms)}, "
        "because it was not used for transactional.id.expiration.ms; InitProducerId creates it again."
    )


def _refusal(name: str, facts: ProducerFacts) -> list[str]:
    refused = facts.refused
    if refused is None:
        return _timeout(facts) if facts.timed_out is not None else []
    had = (
        "" if refused.producer_epoch is None else f" with producer {refused.producer_id} epoch {refused.producer_epoch}"
    )
    first = (
        f"{refused.request or 'A request'} of transactional id {name}{_who(refused)}{had} was refused "
        f"{duration(refused.ago_ms)} ago: {refused.error}{'' if refused.why is None else f' ({refused.why})'}."
    )
    return [first, *_reason(refused, facts)]


def _reason(refused: RecordedEvent, facts: ProducerFacts) -> list[str]:
    """Return what raised the epoch: the later of a timeout and an InitProducerId before the refusal."""
    event: list[tuple[int, list[str]]] = []
    if facts.timed_out is not None and facts.timed_out.at_ms <= refused.at_ms:
        event.append((facts.timed_out.at_ms, _timeout(facts)))
    if facts.fenced is not None and facts.fenced.at_ms <= refused.at_ms:
        event.append((facts.fenced.at_ms, [_fenced(facts.fenced)]))
    return max(event)[1] if event else []


def _fenced(event: RecordedEvent) -> str:
    before = "" if event.epoch_before is None else f", before that it was {event.epoch_before}"
    return (
        f"Another InitProducerId{_who(event)} came {duration(event.ago_ms)} ago, at {moment(event.at_ms)}: "
        f"producer {event.producer_id} has epoch {event.producer_epoch} since then{before}."
    )


def _timeout(facts: ProducerFacts) -> list[str]:
    event = facts.timed_out
    assert event is not None
    limit = "" if facts.timeout_ms is None else f" (transaction.timeout.ms is {facts.timeout_ms})"
    return [
        f"Its transaction was aborted for its timeout {duration(event.ago_ms)} ago, at {moment(event.at_ms)}{limit}; "
        f"the producer that began it is fenced since then."
    ]


def _who(event: RecordedEvent) -> str:
    if event.client_id is None:
        return ""
    return f" by client {named(event.client_id)}" + (f" from {event.peer}" if event.peer else "")


def _now(name: str, facts: ProducerFacts) -> list[str]:
    present = f"producer {facts.producer_id} with epoch {facts.producer_epoch}"
    fences = f"requests with a lower epoch, or another producer id, are refused (PRODUCER_FENCED, {_OTHERS})"
    txn = facts.transaction
    if txn is None:
        ago = "" if facts.updated_ago_ms is None else f" {duration(facts.updated_ago_ms)} ago"
        last = _LAST.get(facts.state or "", f"its state is {facts.state} since")
        event = [f"Transactional id {name} waits for nothing: no transaction is open, {last}{ago}."]
        return [*event, f"It is held by {present}: {fences}."]
    age = "" if txn.age_ms is None else f", begun {duration(txn.age_ms)} ago"
    where = f" in {listed(facts.partitions, facts.partitions_count)}" if facts.partitions else ""
    event = [f"Transactional id {name} has a transaction{where}: it is {facts.state}{age}."]
    if facts.state != "Ongoing":
        event.append("EndTxn and InitProducerId are answered CONCURRENT_TRANSACTIONS until it is complete.")
    return [*event, *waits_for(txn), f"It is held by {present}: {fences}."]


_LAST = {
    "Empty": "and InitProducerId came",
    "CompleteCommit": "and the last one was committed",
    "CompleteAbort": "and the last one was aborted",
}
_OTHERS = "INVALID_PRODUCER_EPOCH"
