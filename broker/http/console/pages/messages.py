"""Messages of a partition: a page of them from an offset, a time or the end, a search, and one complete record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.broker.control.time_control.movable_clock import ClockRefused
from barnabas.broker.control.time_control.time_text import moment_ms
from barnabas.broker.http.console import formatting
from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import ConsolePage, Facts
from barnabas.broker.http.console.pages import event_history
from barnabas.broker.http.console.pages.changes.producing import TRANSACTIONAL_ID
from barnabas.broker.http.console.pages.partition import named
from barnabas.broker.http.console.params import NOT_FOUND, Refused, RequestParams, whole
from barnabas.broker.http.console.queries import records as looking
from barnabas.broker.http.console.queries.message_schemas import KEY, VALUE, MessageSchema, schemas_of
from barnabas.broker.http.console.queries.records import SHOWN_MAX, VALUE_BYTES_MAX, RecordsPage, Seen, offset_at
from barnabas.broker.http.console.rendering import url
from barnabas.broker.http.console.svg.strip_view import style_of
from barnabas.broker.runtime.scheduler import Work

if TYPE_CHECKING:
    from barnabas.storage.log.log import PartitionLog

_EARLIEST, _END = "earliest", "end"
ISOLATIONS = ("read_uncommitted", "read_committed")
FORMATS = ("auto", "text", "json", "hex")
_PREVIEW_BYTES = 4_000
_DECODED_BYTES_MAX = 4_000
"""Of a key or value in a table. Its own page decodes more."""
HEADERS_MAX = 100
_HEADER_BYTES_MAX = 4_000


async def _list(observed: ConsoleContext, params: RequestParams) -> Facts:
    topic, number = named(observed.services, params)
    isolation, form = params.one_of("isolation", *ISOLATIONS), params.one_of("as", *FORMATS)
    where, needle = params.word("from", _END), params.word("q")
    committed = isolation == "read_committed"
    log = observed.services.partitions.get_if_written(topic, number)
    path = f"/topics/{topic}/{number}"
    facts: Facts = {
        "topic": topic,
        "partition": number,
        "path": path,
        "isolation": isolation,
        "form": form,
        "where": where,
        "needle": needle,
        "own_id": TRANSACTIONAL_ID,
        "is_internal": observed.services.catalogue.topics[topic].is_internal,
        "rows": [],
        "found": None,
        "later": None,
        "earlier": None,
    }
    if log is None:
        return facts
    first = await observed.in_turns(lambda: _first(log, where, committed))
    found: RecordsPage = await observed.in_turns(lambda: looking.search(log, first, needle, committed=committed))
    query = {"isolation": isolation, "as": form, "q": needle}
    rows = await rows_of(observed, topic, found.records, form)
    return facts | {
        "first": first,
        "found": found,
        "rows": rows,
        "later": found.next_offset is not None and url(f"{path}/messages", from_=found.next_offset, **query),
        "earlier": first > log.log_start_offset
        and url(f"{path}/messages", from_=max(log.log_start_offset, first - SHOWN_MAX), **query),
    }


def _first(log: PartitionLog, where: str, committed: bool) -> Work[int]:
    """Return the offset of the query. Raise Refused if it is invalid."""
    bound = log.last_stable_offset if committed else log.high_watermark
    if where == _EARLIEST:
        return log.log_start_offset
    if where == _END:
        return max(log.log_start_offset, bound - SHOWN_MAX)
    if where.removeprefix("-").isdecimal():
        return min(max(whole("from", where), log.log_start_offset), log.log_end_offset)
    try:
        wanted_ms = moment_ms(where)
    except ClockRefused:
        raise Refused("from is an offset, earliest, end, or a time such as 2026-11-24T13:20:00Z") from None
    return (yield from offset_at(log, max(0, wanted_ms), committed=committed))


async def rows_of(observed: ConsoleContext, topic: str, records: Sequence[Seen], form: str) -> list[Facts]:
    """Return records as rows of a table of messages."""
    schemas = await schemas_of(observed, topic, records, bytes_max=_DECODED_BYTES_MAX)
    return [
        _row(seen, form, schemas.get((index, KEY)), schemas.get((index, VALUE))) for index, seen in enumerate(records)
    ]


def _row(seen: Seen, form: str, key_schema: MessageSchema | None, value_schema: MessageSchema | None) -> Facts:
    record = seen.record
    value = seen.decoded if seen.decoded is not None and form == "auto" else _shown(record.value, form, value_schema)
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "kind": seen.kind,
        "style": style_of(seen.kind),
        "key": _shown(record.key, form, key_schema),
        "key_schema": key_schema,
        "value": value,
        "value_schema": value_schema,
        "headers": len(record.headers),
        "value_size": seen.value_size,
    }


def _shown(data: bytes | None, form: str, schema: MessageSchema | None) -> str:
    if schema is not None and schema.text is not None and form in ("auto", "json"):
        return formatting.preview(schema.text[:_PREVIEW_BYTES].encode("utf-8", "replace"), 160)
    return _short(data, form)


def _short(data: bytes | None, form: str) -> str:
    if data is None:
        return "null"
    if form == "hex":
        return formatting.preview(b"0x" + data[:_PREVIEW_BYTES].hex().encode(), 160)
    if form == "json":
        return formatting.preview(data, 160) if formatting.as_json(data, VALUE_BYTES_MAX) is not None else "not JSON"
    return formatting.preview(data, 160)


async def _one(observed: ConsoleContext, params: RequestParams) -> Facts:
    topic, number = named(observed.services, params)
    offset = whole("the offset", params.path["offset"])
    log = observed.services.partitions.get_if_written(topic, number)
    found = None
    if log is not None:
        found = await observed.in_turns(lambda: looking.search(log, offset, "", committed=False, shown_max=1))
    if found is None or not found.records or found.records[0].record.offset != offset:
        raise Refused(f"there is no record at offset {offset} of {topic}-{number}", NOT_FOUND)
    (seen,) = found.records
    schemas = await schemas_of(observed, topic, found.records, bytes_max=VALUE_BYTES_MAX, indent=2)
    decoded = None if seen.decoded is None else json.dumps(json.loads(seen.decoded), indent=2, ensure_ascii=False)
    return {
        "topic": topic,
        "partition": number,
        "path": f"/topics/{topic}/{number}",
        "seen": seen,
        "style": style_of(seen.kind),
        "decoded": decoded,
        "parts": [
            _part("Key", seen.record.key, seen.key_size) | {"schema": schemas.get((0, KEY))},
            _part("Value", seen.record.value, seen.value_size) | {"schema": schemas.get((0, VALUE))},
        ],
        "headers": [_header(name, value) for name, value in seen.record.headers[:HEADERS_MAX]],
        "headers_left_out": max(0, len(seen.record.headers) - HEADERS_MAX),
        "why": await event_history.why(
            lambda why: why.record(topic, number, offset), observed, url(f"/topics/{topic}/{number}/records/{offset}")
        ),
    }


def _header(name: str, value: bytes | None) -> Facts:
    """Return the value of a header on one line, and in the other formats."""
    head = value if value is None else value[:_HEADER_BYTES_MAX]
    return _part(name, head, len(value or b"")) | {"preview": formatting.preview(head, 200)}


def _part(name: str, data: bytes | None, size: int) -> Facts:
    """Return a key or a value in all formats."""
    if data is None:
        return {"name": name, "is_null": True}
    return {
        "name": name,
        "is_null": False,
        "size": size,
        "is_cut": size > len(data),
        "text": formatting.as_text(data, VALUE_BYTES_MAX),
        "json": formatting.as_json(data, VALUE_BYTES_MAX),
        "hex": formatting.as_hex(data, 4_096),
    }


PAGES = (
    ConsolePage("/console/topics/{topic}/{partition}/messages", "messages.html", _list, is_live=False),
    ConsolePage("/console/topics/{topic}/{partition}/records/{offset}", "record.html", _one, is_live=False),
)
