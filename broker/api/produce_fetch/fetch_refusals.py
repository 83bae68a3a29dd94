"""Events about partitions that a Fetch answers with an error."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from barnabas.broker.runtime.events.bounded_facts import SOME
from barnabas.broker.runtime.events.cause import RequestCause
from barnabas.broker.runtime.events.kinds import FETCH_REFUSED
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.registry import ApiKey

if TYPE_CHECKING:
    from barnabas.broker.services import RequestContext
    from barnabas.protocol.hot.fetch import FetchPartition


def report_errors(context: RequestContext, failed: list[tuple[str | None, FetchPartition | None, int]]) -> None:
    """Emit an event for each partition with an error. The request is their cause, however long it has waited."""
    services = context.services
    events = services.events
    if not events.is_on:
        return
    before, events.cause = events.cause, _cause(context)
    for topic, requested, code in islice(failed, SOME):
        facts = {
            "topic": topic,
            "partition": None if requested is None else requested.partition,
            "error": ErrorCode(code).name,
            "fetch_offset": None if requested is None else requested.fetch_offset,
            "errors_count": len(failed),
        }
        events.emit(FETCH_REFUSED, facts)
    events.cause = before


def _cause(context: RequestContext) -> RequestCause:
    events, connection = context.services.events, context.connection
    events.requests_count += 1
    return RequestCause(
        events.requests_count,
        ApiKey.FETCH.api_name,
        context.api_version,
        context.client_id,
        "?" if connection is None else connection.peer,
        context.correlation_id,
        context.node.node_id,
        {},
        None if connection is None else connection.session.named_principal,
    )
