"""The log of the registry, as the registry needs it: the topic `_schemas`. The broker implements it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

SchemasRecord = tuple[bytes, bytes | None]
"""Key and value."""


class SchemasLogFailure(Exception):
    """The log cannot be read or written. The message is a sentence."""


class SchemasReader(Protocol):
    """The receiver of the log's records."""

    def replay(self, key: bytes | None, value: bytes | None, timestamp_ms: int) -> None:
        """Apply a record."""

    def forget(self) -> None:
        """Forget everything: the topic was deleted."""


class SchemasLog(Protocol):
    """The topic, with the position up to which its records are applied."""

    @property
    def is_applied(self) -> bool:
        """Whether all records in the log are applied."""

    async def apply(self, reader: SchemasReader) -> None:
        """Apply all records up to the log's end, in slices. Raises SchemasLogFailure."""

    def append(self, records: Sequence[SchemasRecord]) -> int:
        """Append records, count them as applied, and return their timestamp. Only if all others are applied.

        Raises SchemasLogFailure; then nothing counts as applied.
        """

    async def durable(self) -> None:
        """Wait until all records are on disk, if syncs are configured. Raises SchemasLogFailure."""

    @property
    def record_bytes_max(self) -> int:
        """The maximum size of key and value."""
