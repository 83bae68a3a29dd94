"""Diagnosis of waits: all that hangs, and the answers to queries, with the evidence below the sentences.

Each query has an address. There are no answers without --control.
"""

from __future__ import annotations

import json
from asyncio import Future
from typing import TYPE_CHECKING, TypeVar

from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import ConsolePage, Facts
from barnabas.broker.http.console.params import Refused, RequestParams, whole
from barnabas.broker.http.console.queries.remedies import shown
from barnabas.broker.http.console.rendering import url

if TYPE_CHECKING:
    from barnabas.broker.insight.why.rules.answer import WhyAnswer
    from barnabas.broker.insight.why.why import Why

T = TypeVar("T")
_HANGING, _CONSUMER, _PRODUCER, _GROUP, _RECORD = "hanging", "consumer", "producer", "group", "record"
_EVIDENCE_CHARACTERS_MAX = 20_000


async def when_there(found: T | Future[T]) -> T:
    """Return an answer that is present, or await it."""
    return await found if isinstance(found, Future) else found


async def _look(observed: ConsoleContext, params: RequestParams) -> Facts:
    question = params.one_of("ask", _HANGING, _CONSUMER, _PRODUCER, _GROUP, _RECORD)
    given = {name: params.word(name) for name in ("group", "topic", "transactional_id", "record")}
    facts: Facts = {"ask": question, "given": given, "answers": None}
    if observed.why is None:
        return facts
    if question == _HANGING:
        found = await when_there(observed.why.hanging())
        here = url("/why")
        return facts | {"answers": [_shown(observed, *each, _page_of(each[0]), here) for each in found.items()]}
    about, asking = _asking(observed.why, question, params)
    here = url("/why", ask=question, **given)
    return facts | {"answers": [_shown(observed, about, await when_there(asking), None, here)]}


def _asking(why: Why, question: str, params: RequestParams) -> tuple[str, WhyAnswer | Future[WhyAnswer]]:
    """Return the subject of the query, and its answer. Raise Refused if a parameter is missing."""
    if question == _PRODUCER:
        transactional_id = params.needed("transactional_id")
        return f"Transactional id {transactional_id}", why.producer(transactional_id)
    if question == _RECORD:
        topic, partition, offset = _record(params.needed("record"))
        return f"Offset {offset} of {topic}-{partition}", why.record(topic, partition, offset)
    group = params.needed("group")
    if question == _GROUP:
        return f"The rebalance of group {group}", why.group(group)
    topic = params.word("topic")
    return f"Consumers of group {group}" + (f" on {topic}" if topic else ""), why.consumer(group, topic or None)


def _record(text: str) -> tuple[str, int, int]:
    place, _, offset = text.rpartition(":")
    topic, _, partition = place.rpartition(":")
    if not topic:
        raise Refused("a record is TOPIC:PARTITION:OFFSET, such as orders:0:42")
    return topic, whole("the partition", partition), whole("the offset", offset)


def _shown(observed: ConsoleContext, about: str, answer: WhyAnswer, href: str | None, here: str) -> Facts:
    evidence = json.dumps(dict(answer.evidence), indent=2, ensure_ascii=False, default=str)
    return {
        "about": about[0].upper() + about[1:],
        "href": href,
        "shown": shown(observed.services, answer, here),
        "evidence": evidence[:_EVIDENCE_CHARACTERS_MAX],
    }


def _page_of(about: str) -> str | None:
    """Return the page for an entry of `hanging`, by its name."""
    for prefix, path in (("transactional id ", "/transaction"), ("group ", "/group"), ("consumer ", "/group")):
        if about.startswith(prefix):
            return url(path, id=about.removeprefix(prefix))
    return None


PAGES = (ConsolePage("/console/why", "why.html", _look, is_live=False),)
