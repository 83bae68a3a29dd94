"""Topics: all of them, and one with its partitions and its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.config.definitions.values import text_of
from barnabas.broker.config.resources.topic_configs import TOPIC_KEYS, effective
from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import ConsolePage, Facts
from barnabas.broker.http.console.params import NOT_FOUND, Refused, RequestParams
from barnabas.broker.http.console.sorting import Keys, sorting_of
from barnabas.broker.insight.inspection.logs import LogSummary, ends, summary
from barnabas.broker.insight.inspection.topics import every_topic
from barnabas.storage.errors import StorageError
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.metadata.image.image import TopicImage
    from barnabas.broker.services import Services

TOPICS_MAX = 500
SORTED_MAX = 2_000
PARTITIONS_MAX = 200
_SUMMED_MAX = 2_000
_IN_A_STEP = 10


def named_topic(services: Services, params: RequestParams) -> TopicImage:
    """Return the topic of the path. Raise Refused if it does not exist."""
    topic = services.catalogue.topics.get(params.path["topic"])
    if topic is None:
        raise Refused(f"there is no topic {params.path['topic']}", NOT_FOUND)
    return topic


async def _list(observed: ConsoleContext, params: RequestParams) -> Facts:
    services = observed.services
    needle = params.word("q")
    which = params.one_of("which", "users", "all")
    sorting = sorting_of(params, "/topics", _KEYS, which=which, q=needle)
    every = every_topic(services)
    wanted = sorted(
        (topic.is_internal, topic.name, topic.partitions_count)
        for topic in every
        if needle in topic.name and (which == "all" or not topic.is_internal)
    )
    if sorting.column in _KNOWN_BEFORE:
        wanted = sorting.applied(wanted, _KNOWN_BEFORE)
    looked_at = TOPICS_MAX if sorting.column in ("", *_KNOWN_BEFORE) else SORTED_MAX
    rows = await observed.in_turns(lambda: sums(services, wanted[:looked_at]))
    rates = await observed.in_turns(observed.traffic.rates)
    rows = [row | {"rates": None if rates is None else rates.of(row["name"])} for row in rows]
    return {
        "rows": sorting.applied(rows, _KEYS)[:TOPICS_MAX],
        "left_out": max(0, len(wanted) - TOPICS_MAX),
        "needle": needle,
        "which": which,
        "sorting": sorting,
    }


_KNOWN_BEFORE: Keys[tuple[bool, str, int]] = {"topic": lambda each: each[1], "partitions": lambda each: each[2]}
"""Columns by which all topics are sorted; by the others the first ones, whose logs are looked at."""
_KEYS: Keys[Facts] = {
    "topic": lambda row: row["name"],
    "partitions": lambda row: row["partitions"],
    "offsets": lambda row: row["offsets"] if row["is_whole"] else None,
    "size": lambda row: row["size"] if row["is_whole"] else None,
    "held_back": lambda row: row["held_back"] if row["is_whole"] else None,
    "records_in": lambda row: row["rates"] and row["rates"].records_in,
    "bytes_in": lambda row: row["rates"] and row["rates"].bytes_in,
    "bytes_out": lambda row: row["rates"] and row["rates"].bytes_out,
}


def sums(services: Services, topics: list[tuple[bool, str, int]]) -> Steps[list[Facts]]:
    """Return, in steps, each topic with its offsets and bytes, as far as known without opening logs.

    `topics`: for each whether it is internal, its name, and the number of its partitions.
    """
    rows, looked_at = [], 0
    for is_internal, name, count in topics:
        found: list[LogSummary] = []
        for number in range(min(count, max(0, _SUMMED_MAX - looked_at))):
            looked_at += 1
            one = _summary(services, name, number)
            found += [] if one is None else [one]
            if looked_at % _IN_A_STEP == 0:
                yield
        rows.append(
            {
                "name": name,
                "is_internal": is_internal,
                "partitions": count,
                "offsets": sum(each.log_end_offset - each.log_start_offset for each in found),
                "size": sum(each.size for each in found),
                "held_back": sum(each.held_back or 0 for each in found),
                "is_whole": looked_at < _SUMMED_MAX,
            }
        )
    return rows


def _summary(services: Services, topic: str, partition: int) -> LogSummary | None:
    try:
        return summary(services, topic, partition)
    except StorageError:
        return None  # the health page shows the reason


async def _one(observed: ConsoleContext, params: RequestParams) -> Facts:
    services = observed.services
    topic = named_topic(services, params)
    count = len(topic.partitions)
    first = params.number("first", 0, most=max(0, count - 1))
    numbers = range(first, min(count, first + PARTITIONS_MAX))
    rows = await observed.in_turns(lambda: _partitions(services, topic.name, numbers))
    settings = [
        (name, text_of(effective(topic.configs, services.config, name)), name in topic.configs)
        for name in sorted(TOPIC_KEYS)
    ]
    return {
        "topic": topic.name,
        "is_internal": topic.is_internal,
        "rows": rows,
        "count": count,
        "next": first + PARTITIONS_MAX if first + PARTITIONS_MAX < count else None,
        "own": [(name, value) for name, value, is_own in settings if is_own],
        "keys": [name for name, _, _ in settings],
        "inherited": [(name, value) for name, value, is_own in settings if not is_own],
    }


def _partitions(services: Services, topic: str, numbers: range) -> Steps[list[Facts]]:
    rows: list[Facts] = []
    failed = services.partitions.failed.reasons
    for number in numbers:
        placement = services.cluster.placement_of(topic, number)
        rows.append(
            {
                "number": number,
                "leader": placement.leader,
                "replicas": placement.replicas,
                "in_sync": placement.isr,
                "log": _summary(services, topic, number),
                "ends": ends(services, topic, number),
                "failed": failed.get((topic, number)),
            }
        )
        yield
    return rows


PAGES = (
    ConsolePage("/console/topics", "topics.html", _list),
    ConsolePage("/console/topics/{topic}", "topic.html", _one),
)
