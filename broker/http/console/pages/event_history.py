"""The history of a transactional id or a group, in sentences, each with its cause; and the answers of `why`.

Available only with --control, since a broker stores no trace otherwise. Invariant: a query reads a bounded part of the
trace at a time, and other tasks run in between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from barnabas.broker.http.console import formatting
from barnabas.broker.http.console.page import Facts
from barnabas.broker.http.console.pages.why import when_there
from barnabas.broker.http.console.queries.remedies import AnswerShown, shown
from barnabas.broker.insight.history.trace_filter import TraceFilter
from barnabas.broker.runtime.events import KINDS, kinds
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from asyncio import Future

    from barnabas.broker.http.console.console_context import ConsoleContext
    from barnabas.broker.insight.history.history import History
    from barnabas.broker.insight.history.trace_event import TraceEvent
    from barnabas.broker.insight.why.rules.answer import WhyAnswer
    from barnabas.broker.insight.why.why import Why

SHOWN_MAX: Final = 60
"""Rows; events that repeat are one row."""
EVENTS_MAX: Final = 600
_FOLDED_MIN, _PERIOD_MAX = 3, 3
_IN_A_STEP: Final = 500
_DIFFERS: Final = re.compile(r"after \d+ ms")
"""What may differ between repetitions: how long a request took."""
_LEFT_OUT = (kinds.TRANSACTION_WRITING.name, kinds.MARKER_WRITING.name, kinds.GROUP_WRITING.name)
"""Omitted, because the event after the write covers them; a write stopped by a fault is shown on the page of faults."""


async def why(
    ask: Callable[[Why], WhyAnswer | Future[WhyAnswer]], observed: ConsoleContext, here: str
) -> AnswerShown | None:
    """Return an answer for the page at `here`; None if queries are not available."""
    if observed.why is None:
        return None
    return shown(observed.services, await when_there(ask(observed.why)), here)


async def of_transactional_id(observed: ConsoleContext, transactional_id: str) -> list[Facts] | None:
    """Return its recent events in rows, the newest first; None if no events are stored."""
    history = observed.history
    if history is None:
        return None
    found = await observed.in_turns(lambda: last(history, TraceFilter(transactional_id=transactional_id)))
    return folded([row_of(each) for each in found])[:SHOWN_MAX]


def last(history: History, wanted: TraceFilter) -> Steps[list[TraceEvent]]:
    """Return, in steps, the last matching events to show, the newest first, as far as they are stored."""
    found: list[TraceEvent] = []
    end = history.next_number
    while end > 1 and len(found) < EVENTS_MAX:
        begin = max(1, end - _IN_A_STEP)
        part = history.past(wanted, begin, _IN_A_STEP, looks_at=end - begin)
        new = (each for each in reversed(part.events) if (each.number or 0) < end)
        found += (each for each in new if each.kind not in _LEFT_OUT)
        if part.lost:
            break
        end = begin
        yield
    return found[:EVENTS_MAX]


def row_of(event: TraceEvent) -> Facts:
    """Return the event as a page shows it."""
    sentence, style = _SENTENCES.get(event.kind, _plainly)(event.facts, event)
    return {
        "number": event.number,
        "at_ms": event.at_ms,
        "kind": event.kind,
        "style": style,
        "sentence": sentence,
        "because": _because(event.cause),
    }


def folded(rows: list[Facts]) -> list[Facts]:
    """Return the rows with repetitions in one: of a row, or of up to three that alternate, as a refusal and its answer.

    `repeats`: the rows that are folded into it, itself included; empty if there are none.
    """
    keys = [(row["kind"], row["because"], _DIFFERS.sub("", row["sentence"])) for row in rows]
    found: list[Facts] = []
    at = 0
    while at < len(rows):
        period, times = next(
            ((each, count) for each in range(1, _PERIOD_MAX + 1) if (count := _times(keys, at, each)) >= _FOLDED_MIN),
            (1, 1),
        )
        end = at + period * times
        for first in range(at, at + period):
            found.append({**rows[first], "repeats": rows[first:end:period] if times > 1 else []})
        at = end
    return found


def _times(keys: Sequence[object], at: int, period: int) -> int:
    """Return how often the keys from here on repeat with this period."""
    pattern, times = keys[at : at + period], 1
    while keys[at + period * times : at + period * (times + 1)] == pattern:
        times += 1
    return times


def _because(cause: Mapping[str, Any]) -> str:
    if "api" in cause:
        who = f" as {cause['principal']}" if "principal" in cause else ""
        return f"{cause['api']} of {cause['client_id'] or 'a client without a name'}{who} at {cause['peer']}"
    return f"timer: {cause['timer']}" if "timer" in cause else ""


# --- sentences by kind. Facts are those of broker/runtime/events/kinds.py ---

_StyledSentence = tuple[str, str]


def _plainly(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    """Return the description of the kind, and its facts."""
    what = KINDS[event.kind].what if event.kind in KINDS else event.kind
    named = [f"{name} {_text(value)}" for name, value in facts.items() if value not in (None, "")]
    return f"{what[0].upper()}{what[1:]}: {', '.join(named)}.", "quiet"


def _given(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    before = ""
    if facts["previous_producer_id"] >= 0:
        before = f"; before, it was {facts['previous_producer_id']}, epoch {facts['previous_producer_epoch']}"
    return f"A producer started: producer {_producer(facts)}{before}.", "empty"


def _fenced(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    by = f" by {_because(event.cause)}" if event.cause else ""
    return (
        f"Producer {_producer(facts)}, was fenced{by}: {facts['why']}. "
        f"Epoch {facts['new_producer_epoch']} is valid now.",
        "aborted",
    )


def _refused(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    why_not = f": {facts['why']}" if facts.get("why") else ""
    where = f" to {facts['topic']}-{facts['partition']}" if "topic" in facts else ""
    return f"{event.cause.get('api', 'A request')}{where} was refused with {facts['error']}{why_not}.", "aborted"


def _answered(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    error = facts["error"]
    ended = "was answered" if error in (None, "NONE") else f"was answered {error}"
    return f"{facts['api']} {ended}, after {facts['took_ms']} ms.", "empty" if error in (None, "NONE") else "aborted"


def _written(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    return (
        f"A record is written to __transaction_state-{facts['partition']}: {facts['state'] or 'the id is removed'}.",
        "empty",
    )


def _begun(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    return (
        f"A transaction of {_producer(facts)} began; its timeout is {formatting.duration(facts['timeout_ms'])}.",
        "open",
    )


def _added(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    return f"Added to the transaction: {_partitions(facts)}.", "open"


def _group_added(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    return f"Offsets of group {facts['group'] or 'a group'} were added to the transaction.", "open"


def _timed_out(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    lasted, limit = formatting.duration(facts["open_for_ms"]), formatting.duration(facts["timeout_ms"])
    return f"The transaction timed out: it was open for {lasted}, and its timeout is {limit}.", "aborted"


def _prepared(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    return f"The {_end(facts)} is decided. Markers go to {_partitions(facts)}.", "prepared"


def _marker(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    return f"Marker {facts['position']} is written, in {facts['topic']}-{facts['partition']}.", "prepared"


def _marker_refused(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    then = "The broker retries" if facts["is_tried_again"] else "The partition is skipped"
    return f"{facts['topic']}-{facts['partition']} refused its marker with {facts['error']}. {then}.", "aborted"


def _marked(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    return f"Every partition has its marker, and readers see the {_end(facts)}.", "prepared"


def _completed(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    return f"The {_end(facts)} is complete.", "committed" if facts["is_commit"] else "aborted"


def _fired(facts: Mapping[str, Any], event: TraceEvent) -> _StyledSentence:
    where = facts.get("point") or facts.get("api") or facts.get("disk") or "a step"
    return f"Fault {facts['fault']} fired at {where}: {facts['does']}.", "aborted"


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _producer(facts: Mapping[str, Any]) -> str:
    return f"{facts['producer_id']}, epoch {facts['producer_epoch']}"


def _end(facts: Mapping[str, Any]) -> str:
    return "commit" if facts["is_commit"] else "abort"


def _partitions(facts: Mapping[str, Any]) -> str:
    named = list(facts["partitions"])
    more = facts["partitions_count"] - len(named)
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


_SENTENCES: dict[str, Callable[[Mapping[str, Any], TraceEvent], _StyledSentence]] = {
    kinds.PRODUCER_ID_GIVEN.name: _given,
    kinds.PRODUCER_FENCED.name: _fenced,
    kinds.PRODUCE_REFUSED.name: _refused,
    kinds.TRANSACTION_REFUSED.name: _refused,
    kinds.REQUEST_ANSWERED.name: _answered,
    kinds.TRANSACTION_WRITTEN.name: _written,
    kinds.TRANSACTION_BEGUN.name: _begun,
    kinds.TRANSACTION_PARTITIONS_ADDED.name: _added,
    kinds.TRANSACTION_GROUP_ADDED.name: _group_added,
    kinds.TRANSACTION_TIMED_OUT.name: _timed_out,
    kinds.TRANSACTION_PREPARED.name: _prepared,
    kinds.MARKER_WRITTEN.name: _marker,
    kinds.MARKER_REFUSED.name: _marker_refused,
    kinds.TRANSACTION_MARKED.name: _marked,
    kinds.TRANSACTION_COMPLETED.name: _completed,
    kinds.FAULT_FIRED.name: _fired,
}
