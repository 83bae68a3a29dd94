"""A partition: its log as a strip of cells, and one batch of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.http.console import formatting
from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import ConsolePage, Facts
from barnabas.broker.http.console.pages.topics import named_topic
from barnabas.broker.http.console.params import NOT_FOUND, Refused, RequestParams, whole
from barnabas.broker.http.console.queries import partition as looking
from barnabas.broker.http.console.queries.partition import Strip
from barnabas.broker.http.console.svg.strip_view import WIDTH, drawn, style_of
from barnabas.broker.insight.inspection.groups import begin_loading
from barnabas.protocol.records.compression import COMPRESSION_NAMES

if TYPE_CHECKING:
    from barnabas.broker.services import Services


def named(services: Services, params: RequestParams) -> tuple[str, int]:
    """Return the topic and partition of the path. Raise Refused if they do not exist."""
    topic = named_topic(services, params)
    number = whole("the partition", params.path["partition"])
    if number >= len(topic.partitions):
        raise Refused(f"{topic.name} has {formatting.counted(len(topic.partitions), 'partition')}", NOT_FOUND)
    return topic.name, number


async def _look(observed: ConsoleContext, params: RequestParams) -> Facts:
    services = observed.services
    topic, number = named(services, params)
    first, end, at = (_offset(params, name) for name in ("from", "to", "at"))
    if first is not None and end is not None and first >= end:
        raise Refused("from must be lower than to")
    begin_loading(services)
    strip = await observed.in_turns(lambda: looking.look(services, topic, number, first, end))
    path = f"/topics/{topic}/{number}"
    facts: Facts = {
        "topic": topic,
        "partition": number,
        "partitions": len(services.catalogue.topics[topic].partitions),
        "leader": services.cluster.placement_of(topic, number).leader,
        "path": path,
        "strip": strip,
        "width": int(WIDTH),
    }
    if strip is None:
        return facts | {"drawing": None, "batch": None, "at": at}
    batch = None if at is None else await _batch(observed, topic, number, at, strip)
    return facts | {"drawing": drawn(strip, path, at), "batch": batch, "at": at}


def _offset(params: RequestParams, name: str) -> int | None:
    return params.number(name, 0) if params.word(name) else None


async def _batch(observed: ConsoleContext, topic: str, number: int, at: int, strip: Strip) -> Facts:
    """Return a description of the batch that contains an offset."""
    if not strip.log_start_offset <= at < strip.log_end_offset:
        raise Refused(
            f"there is no offset {at}: the log has {strip.log_start_offset} to {strip.log_end_offset - 1}", NOT_FOUND
        )
    services = observed.services
    near = await observed.in_turns(lambda: looking.look(services, topic, number, at, at + 1))
    if near is None or not near.cells:
        return {"description": "Nothing is left at this offset: compaction removed it.", "rows": []}
    cell = near.cells[0]
    header = cell.header
    rows = [
        ("Offsets", f"{header.base_offset} to {header.last_offset}"),
        ("Records", formatting.number(header.records_count)),
        ("Size", formatting.size(header.size_in_bytes)),
        ("Compression", COMPRESSION_NAMES.get(header.compression, "unknown")),
        ("Timestamps", f"{formatting.moment(header.base_timestamp)} to {formatting.moment(header.max_timestamp)}"),
        ("Leader epoch", str(header.partition_leader_epoch)),
    ]
    if header.has_producer_id:
        rows.append(("Producer", f"{header.producer_id}, epoch {header.producer_epoch}"))
        if header.base_sequence >= 0:
            rows.append(("Sequence", f"{header.base_sequence} to {header.last_sequence}"))
    return {
        "description": _SENTENCES[cell.kind],
        "style": style_of(cell.kind),
        "kind": cell.kind,
        "rows": rows,
        "transaction": looking.transaction_of(services, header),
        "first": header.base_offset,
    }


_SENTENCES = {
    "plain": "Written outside of transactions: every reader sees it.",
    "committed": "Written in a transaction that was committed.",
    "aborted": "Written in a transaction that was aborted: readers of committed records skip it.",
    "open": "Written in a transaction that has not ended: readers of committed records stop before it.",
    "commit marker": "A marker: the transaction of this producer is committed here.",
    "abort marker": "A marker: the transaction of this producer is aborted here.",
    "control": "A control record, which no consumer sees.",
}

PAGES = (ConsolePage("/console/topics/{topic}/{partition}", "partition.html", _look),)
