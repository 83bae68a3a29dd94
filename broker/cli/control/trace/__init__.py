"""`barnabas trace`: recent and new events of a broker; as lines, JSON, or a file for Perfetto."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from barnabas.broker.cli.control.control_request import answered, ask, check, where_options
from barnabas.broker.cli.control.trace.event_stream import events_in
from barnabas.broker.cli.control.trace.perfetto import trace_of
from barnabas.broker.cli.terminal.options import Parser
from barnabas.broker.insight.history.lines import line_of

_PATH = "/control/trace"
_LIMIT = 100
_PAGE = 1_000
_FILTERS = {
    "kind": ("KIND", "kinds of events, or what their names begin with: transaction,group.member_left"),
    "transactional-id": ("ID", "only events of this transactional id"),
    "group": ("GROUP", "only events of this group"),
    "topic": ("TOPIC", "only events of this topic"),
    "partition": ("N", "only events of this partition of the topic"),
    "client-id": ("ID", "only events that a client of this id caused"),
    "producer-id": ("N", "only events of this producer"),
}


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    options = parser().parse_args(arguments)
    filters = {
        name.replace("-", "_"): value for name in _FILTERS if (value := getattr(options, name.replace("-", "_")))
    }
    if options.perfetto is not None:
        _write_perfetto(options, filters)
        return 0
    for event in _followed(options, filters) if options.follow else _last(options, filters):
        print(json.dumps(event) if options.json else line_of(event), flush=options.follow)
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the command's parser."""
    top = Parser(
        prog="barnabas trace",
        description="Print the latest events in a broker with --control, each with its cause.",
        parents=[where_options("trace")],
    )
    for name, (metavar, text) in _FILTERS.items():
        top.add_argument(f"--{name}", metavar=metavar, help=text)
    top.add_argument("--limit", type=int, default=_LIMIT, metavar="N", help=f"how many at most (default {_LIMIT})")
    how = top.add_mutually_exclusive_group()
    how.add_argument("--follow", action="store_true", help="print new events as they happen, until interrupted")
    how.add_argument(
        "--perfetto", metavar="FILE", help="write all events in the trace to a file that ui.perfetto.dev opens"
    )
    top.add_argument(
        "--all-requests", action="store_true", help="with --follow: print every request, also Produce and Fetch"
    )
    return top


def _last(options: argparse.Namespace, filters: Mapping[str, str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask(options, _path({**filters, "limit": str(max(options.limit, 0))}))["events"]
    return found


def _followed(options: argparse.Namespace, filters: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the last events, and then new ones, until the broker ends the stream."""
    wanted = {**filters, "requests": "all"} if options.all_requests else filters
    start = ask(options, _path({**filters, "limit": str(max(options.limit, 0))}))
    yield from start["events"]
    path, headers = _path({**wanted, "from": str(start["next"])}), {"Accept": "text/event-stream"}
    with answered(options, path, headers=headers) as answer:
        check(options, answer)
        yield from events_in(answer)


def _write_perfetto(options: argparse.Namespace, filters: Mapping[str, str]) -> None:
    events: list[dict[str, Any]] = []
    start, end = 1, None
    while end is None or start < end:
        page = ask(options, _path({**filters, "from": str(start), "limit": str(_PAGE)}))
        events += page["events"]
        if page["next"] == start:
            break
        start = page["next"]
        if end is None:
            end = ask(options, _path({"limit": "0"}))["next"]
    with open(options.perfetto, "w", encoding="utf-8") as file:
        json.dump(trace_of(events), file)
    print(f"{options.perfetto}: {len(events)} events, for https://ui.perfetto.dev")


def _path(query: Mapping[str, str]) -> str:
    return f"{_PATH}?{urlencode(query)}" if query else _PATH
