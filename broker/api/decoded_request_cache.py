# compiled: mypyc
"""Requests that clients repeat, byte for byte, with their decoded form: so each is decoded once.

A member's heartbeat, the partitions that a producer adds to each of its transactions, EndTxn, and Metadata for a topic:
a client repeats them unchanged, but for the correlation id in front. Knows bytes and decoded requests, not their
meaning; `stages/decoding.py` looks here before it decodes.

Invariants: a stored request was decoded whole from exactly these bytes, of the same version of the same API; its
handler does not change it (tests/broker/api/test_decoded_request_cache.py). At most REQUESTS_MAX of all APIs together
are stored, none of more than REQUEST_BYTES_MAX.
"""

from __future__ import annotations

from typing import Final

from barnabas.protocol.codec.schema import Request
from barnabas.protocol.registry import ApiKey

REPEATED_UP_TO: Final = {
    ApiKey.METADATA: ApiKey.METADATA.max_version,
    ApiKey.HEARTBEAT: ApiKey.HEARTBEAT.max_version,
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,  # newer ones are sent by brokers
    ApiKey.ADD_OFFSETS_TO_TXN: ApiKey.ADD_OFFSETS_TO_TXN.max_version,
    ApiKey.END_TXN: 4,  # from version 5 on each has another epoch
}
"""The APIs, and up to which version their requests are repeated."""
REQUESTS_MAX = 1024
REQUEST_BYTES_MAX: Final = 192

Known = dict[bytes, Request]
"""From the bytes behind the client id to the request."""


class DecodedRequestCache:
    """The decoded requests of one dispatcher."""

    def __init__(self) -> None:
        self._tables: dict[tuple[int, int], Known] = {}
        self._count = 0

    def table(self, api_key: ApiKey, version: int) -> Known | None:
        """Return the table of one version of an API; None if its requests are not repeated."""
        if version > REPEATED_UP_TO.get(api_key, -1):
            return None
        return self._tables.setdefault((api_key, version), {})

    def remember(self, known: Known, data: bytes, request: Request) -> None:
        """Store that `data` decodes to this request. All tables are cleared when the cache is full."""
        if len(data) > REQUEST_BYTES_MAX:
            return
        if self._count >= REQUESTS_MAX:
            for table in self._tables.values():
                table.clear()
            self._count = 0
        known[data] = request
        self._count += 1
