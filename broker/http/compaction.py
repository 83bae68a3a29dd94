"""POST /clean?partition=TOPIC[:N,…]&…: compacts logs now, and reports the progress in lines of JSON.

One request at a time: another one is refused. A client that disconnects ends it, after the log in progress.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from barnabas.broker.http.pages import BAD_REQUEST, CONFLICT, JSON_LINES, OK, Page, StreamedPage
from barnabas.broker.partitions.cleaning.manual_compaction import ManualCompaction
from barnabas.protocol.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from barnabas.broker.services import Services

_PARTITIONS_MAX = 1_000  # in one query


class Compaction:
    """Compaction on request, for one broker."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._is_under_way = False

    def begin(self, query: str) -> Page | StreamedPage:
        """Return the stream of progress lines, or a page with the reason for a refusal."""
        if self._is_under_way:
            return Page(CONFLICT, b"another request is compacting logs now\n")
        services = self._services
        by_hand = ManualCompaction(
            services.cleaner, services.partitions, services.catalogue, services.config, services.upkeep
        )
        try:
            wanted = [_wanted(name, value) for name, value in parse_qsl(query, max_num_fields=_PARTITIONS_MAX)]
            keys = by_hand.keys(wanted)
        except ValueError as wrong:
            return Page(BAD_REQUEST, f"{wrong}\n".encode())
        except KafkaError as refusal:
            return Page(BAD_REQUEST, f"{refusal}\n".encode())
        return StreamedPage(OK, JSON_LINES, self._lines(by_hand, keys))

    async def _lines(self, by_hand: ManualCompaction, keys: list[tuple[str, int]]) -> AsyncGenerator[bytes, None]:
        self._is_under_way = True
        try:
            async for event in by_hand.clean(keys):
                yield json.dumps(event._asdict()).encode() + b"\n"
        finally:
            self._is_under_way = False


def _wanted(name: str, value: str) -> tuple[str, tuple[int, ...]]:
    topic, colon, numbers = value.partition(":")
    chosen = numbers.split(",") if colon else []
    if name != "partition" or not topic or not all(each.isascii() and each.isdecimal() for each in chosen):
        raise ValueError(f"{name}={value} is not partition=TOPIC or partition=TOPIC:N,…")
    return topic, tuple(int(each) for each in chosen)
