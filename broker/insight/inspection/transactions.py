"""The transactions, and how many ended.

A `TransactionMetadata` is the coordinator's own object, which readers must not change. Without `__transaction_state`
there are no transactions, and the coordinator is not built to find that out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import TRANSACTION_STATE_TOPIC
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.coordinator.transaction.decisions.model import TopicPartition, TransactionMetadata
    from barnabas.broker.services import Services

_SLICE = 1_000  # transactions examined in a step


class Ended(NamedTuple):
    """The number of transactions that ended in this run."""

    committed: int = 0
    aborted: int = 0
    timed_out: int = 0
    """Transactions aborted by their timeout."""


class Unwritten(NamedTuple):
    """The markers that a transaction whose end is decided still waits for."""

    partitions_count: int
    """How many partitions have no marker yet."""
    refused: dict[TopicPartition, str]
    """Partitions that refused the marker and are retried, with the name of the error."""
    without_room: frozenset[TopicPartition]
    """The subset of `refused` whose disk is full."""
    held_at: str | None = None
    """The step at which a fault stops it."""


def every_transaction(services: Services) -> list[TransactionMetadata]:
    """Return every transactional id with its present or last transaction. Raise KafkaError while a partition loads."""
    return services.transactions.transactions() if _has_transactions(services) else []


def loaded_transactions(services: Services) -> Iterator[TransactionMetadata]:
    """Yield the transactions of the loaded partitions of `__transaction_state`."""
    if _has_transactions(services):
        for node in services.every_node:
            for partition in node.transactions.loaded():
                yield from list(partition.machine.transactions.values())


def transaction_of(services: Services, transactional_id: str) -> TransactionMetadata | None:
    """Return the present or last transaction of an id; None for an unknown id.

    Raises KafkaError while its partition loads, and while no node leads it.
    """
    topic = services.catalogue.topics.get(TRANSACTION_STATE_TOPIC)
    if topic is None:
        return None
    index = partition_for(transactional_id, len(topic.partitions))
    if services.cluster.placement_of(topic.name, index).leader == NO_LEADER:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"no node leads {topic.name}-{index}")
    return services.transactions_of(transactional_id).describe(transactional_id)


def transaction_of_producer(services: Services, producer_id: int) -> Steps[TransactionMetadata | None]:
    """Return the transaction of this producer id among the loaded ones, in steps; None if there is none.

    Starts to load the partitions that are not loaded.
    """
    for node in services.every_node if _has_transactions(services) else ():
        node.transactions.load_all()
    for count, txn in enumerate(loaded_transactions(services)):
        if producer_id in (txn.producer_id, txn.next_producer_id, txn.previous_producer_id):
            return txn
        if count % _SLICE == _SLICE - 1:
            yield
    return None


def are_loaded(services: Services) -> bool:
    """Return whether every partition of `__transaction_state` is led and loaded, so that a missing id is unknown."""
    if not _has_transactions(services):
        return True
    loaded = sum(1 for node in services.every_node for _ in node.transactions.loaded())
    return loaded >= len(services.catalogue.topics[TRANSACTION_STATE_TOPIC].partitions)


def unwritten(services: Services, transactional_id: str) -> Unwritten | None:
    """Return the markers not yet written of a prepared transaction; None if no transaction of the id is being ended."""
    for node in services.every_node if _has_transactions(services) else ():
        for job in node.transactions.markers.jobs_of(transactional_id):
            refused = {where: code.name for where, code in job.parked.items()}
            return Unwritten(len({*job.todo, *job.parked}), refused, frozenset(job.without_room), job.held_at)
    return None


def ended(services: Services) -> Ended:
    """Return how many transactions ended, by outcome."""
    if not _has_transactions(services):
        return Ended()
    found = [node.transactions for node in services.every_node]
    return Ended(
        sum(each.completions.committed for each in found),
        sum(each.completions.aborted for each in found),
        sum(each.timed_out for each in found),
    )


def is_open(txn: TransactionMetadata) -> bool:
    """Return whether it is open, or ended but not complete: read_committed consumers may be waiting for it."""
    return txn.state.is_open


def started_ms(txn: TransactionMetadata) -> int | None:
    """Return when its first partition was added; None for an id that had no transaction yet."""
    return txn.start_timestamp_ms if txn.start_timestamp_ms >= 0 else None


def _has_transactions(services: Services) -> bool:
    return TRANSACTION_STATE_TOPIC in services.catalogue.topics
