"""The transactions there are, and how many ended.

A `Transaction` is the coordinator's own value, which nobody changes. Where there is no `__transaction_state` yet there
are none, and the coordinator is not built to say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from barnabas.protocol.files.names import TRANSACTION_STATE_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.context import Services
    from barnabas.broker.coordinator.transaction.model import Transaction


class Ended(NamedTuple):
    """How many transactions ended in this run."""

    committed: int = 0
    aborted: int = 0
    timed_out: int = 0
    """Those whose abort was begun for their timeout."""


def every_transaction(services: Services) -> list[Transaction]:
    """Every transactional id with its present or last transaction. KafkaError, also while a partition loads."""
    return services.transactions.transactions() if _has_transactions(services) else []


def loaded_transactions(services: Services) -> Iterator[Transaction]:
    """Those of the partitions of `__transaction_state` that are loaded, one after another."""
    if _has_transactions(services):
        for node in services.every_node:
            for partition in node.transactions.loaded():
                yield from list(partition.machine.transactions.values())


def ended(services: Services) -> Ended:
    """How many ended, and how."""
    if not _has_transactions(services):
        return Ended()
    found = [node.transactions for node in services.every_node]
    return Ended(
        sum(each.completions.committed for each in found),
        sum(each.completions.aborted for each in found),
        sum(each.timed_out for each in found),
    )


def is_open(txn: Transaction) -> bool:
    """Whether it is open, or ended and not complete: readers of committed records may be waiting for it."""
    return txn.state.is_open


def started_ms(txn: Transaction) -> int | None:
    """When its first partition was added; None for an id that had no transaction yet."""
    return txn.start_timestamp_ms if txn.start_timestamp_ms >= 0 else None


def _has_transactions(services: Services) -> bool:
    return TRANSACTION_STATE_TOPIC in services.catalogue.topics
