"""The choice of the log that is cleaned next. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from barnabas.broker.partitions.purgatory import PartitionKey
    from barnabas.storage.config import LogConfig
    from barnabas.storage.log.cleaning.cleanable import Cleanable


class Candidate(NamedTuple):
    """A log that could be cleaned."""

    key: PartitionKey
    cleanable: Cleanable
    config: LogConfig


def filthiest_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates that are due for cleaning now, highest dirty ratio first."""
    due = [each for each in candidates if each.cleanable.total_bytes > 0 and each.cleanable.is_due(each.config)]
    return sorted(due, key=lambda each: each.cleanable.dirty_ratio, reverse=True)
