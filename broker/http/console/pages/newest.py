"""The newest messages of a topic, of all its partitions together, newest first; an open page follows the topic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import ConsolePage, Facts
from barnabas.broker.http.console.pages.messages import FORMATS, ISOLATIONS, rows_of
from barnabas.broker.http.console.pages.topics import named_topic
from barnabas.broker.http.console.params import RequestParams
from barnabas.broker.http.console.queries.records import MARKER, SHOWN_MAX, Seen, search
from barnabas.broker.http.console.rendering import url
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.storage.log.log import PartitionLog

PARTITIONS_MAX = 32


class _Newest(NamedTuple):
    """The newest records of some logs, newest first. damaged: the partitions that could not be read to the end."""

    records: list[tuple[int, Seen]]
    """Each with the number of its partition."""
    damaged: list[int]


async def _newest(observed: ConsoleContext, params: RequestParams) -> Facts:
    topic = named_topic(observed.services, params)
    isolation, form = params.one_of("isolation", *ISOLATIONS), params.one_of("as", *FORMATS)
    markers, needle = params.one_of("markers", "hidden", "shown"), params.word("q")
    count = len(topic.partitions)
    logs = [observed.services.partitions.get_if_written(topic.name, n) for n in range(min(count, PARTITIONS_MAX))]
    found = await observed.in_turns(
        lambda: _read(filter(None, logs), needle, committed=isolation == "read_committed", markers=markers == "shown")
    )
    rows = await rows_of(observed, topic.name, [seen for _, seen in found.records], form)
    return {
        "topic": topic.name,
        "is_internal": topic.is_internal,
        "partitions": count,
        "partitions_max": PARTITIONS_MAX,
        "isolation": isolation,
        "form": form,
        "markers": markers,
        "needle": needle,
        "damaged": found.damaged,
        "shown_max": SHOWN_MAX,
        "rows": [
            row | {"partition": number, "address": url(f"/topics/{topic.name}/{number}/records/{row['offset']}")}
            for row, (number, _) in zip(rows, found.records, strict=True)
        ],
    }


def _read(logs: Iterable[PartitionLog], needle: str, *, committed: bool, markers: bool) -> Steps[_Newest]:
    """Return, in steps, the newest of the last records of each log that contain the needle."""
    records: list[tuple[int, Seen]] = []
    damaged = []
    for log in logs:
        bound = log.last_stable_offset if committed else log.high_watermark
        page = yield from search(log, bound - SHOWN_MAX, needle, committed=committed)
        records += [(log.partition, seen) for seen in page.records if markers or seen.kind != MARKER]
        if page.damage is not None:
            damaged.append(log.partition)
        records = _newest_first(records)
    return _Newest(records, damaged)


def _newest_first(records: list[tuple[int, Seen]]) -> list[tuple[int, Seen]]:
    """Return as many as a page shows, by time, and in a partition by offset."""
    ordered = sorted(records, key=lambda each: (each[1].record.timestamp, each[1].record.offset), reverse=True)
    return ordered[:SHOWN_MAX]


PAGES = (ConsolePage("/console/topics/{topic}/messages", "newest.html", _newest),)
