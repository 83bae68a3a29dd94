"""The first page: what the broker holds, where clients connect, and what to try."""

from __future__ import annotations

import shutil
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.broker.http.console.console_context import ConsoleContext
from barnabas.broker.http.console.page import ConsolePage, Facts
from barnabas.broker.http.console.pages.topics import TOPICS_MAX, sums
from barnabas.broker.http.console.params import RequestParams
from barnabas.broker.http.console.queries import transactions
from barnabas.broker.http.console.queries.share_partitions import queue_figures
from barnabas.broker.insight.inspection.groups import every_loaded_group
from barnabas.broker.insight.inspection.topics import every_topic

if TYPE_CHECKING:
    from barnabas.broker.coordinator.transaction.decisions.model import TransactionMetadata

ADDRESSES_MAX = 16
_DEFAULT_ADDRESS = "127.0.0.1:9092"
"""Where commands look for a broker unless another address is given."""


@cache
def _command() -> str:
    """Return how a shell finds the command line."""
    beside = Path(sys.executable).with_name("barnabas")
    return "barnabas" if shutil.which("barnabas") or not beside.exists() else str(beside)


async def _overview(observed: ConsoleContext, params: RequestParams) -> Facts:
    services = observed.services
    topics = [topic for topic in every_topic(services) if not topic.is_internal]
    counted = [(False, topic.name, topic.partitions_count) for topic in topics[:TOPICS_MAX]]
    rows = await observed.in_turns(lambda: sums(services, counted))
    ids: list[TransactionMetadata] = await observed.in_turns(lambda: transactions.every_id(services))
    queues = await observed.in_turns(lambda: queue_figures(services))
    rates = await observed.in_turns(observed.traffic.rates)
    bound = [each.address for member in observed.members for each in member.bound]
    return {
        "unready": observed.unready_reason(),
        "awaited": list(observed.awaited()),
        "addresses": bound[:ADDRESSES_MAX],
        "at": f" --bootstrap-server {bound[0]}" if bound and bound[0] != _DEFAULT_ADDRESS else "",
        "command": _command(),
        "topics": len(topics),
        "partitions": sum(topic.partitions_count for topic in topics),
        "offsets": sum(row["offsets"] for row in rows),
        "size": sum(row["size"] for row in rows),
        "is_whole": len(counted) == len(topics) and all(row["is_whole"] for row in rows),
        "groups": sum(1 for _ in every_loaded_group(services)),
        "queues": queues,
        "open_count": sum(txn.state.is_open for txn in ids),
        "rates": None if rates is None else rates.total,
        "connections": sum(member.listener.connections_count for member in observed.members),
    }


PAGES = (ConsolePage("/console", "overview.html", _overview),)
