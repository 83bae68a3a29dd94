"""The transactions there are, and how many ended.

A `Transaction` is the coordinator's own value, which nobody changes. Where there is no `__transaction_state` yet there
are none, and the coordinator is not built to say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.coordinator.runtime.placement import partition_for
from barnabas.broker.metadata.image.image import NO_LEADER
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import TRANSACTION_STATE_TOPIC
from barnabas.storage.steps import Steps

if TYPE_CHECKING:
    from barnabas.broker.coordinator.transaction.decisions.model import TopicPartition, Transaction
    from barnabas.broker.services import Services

_SLICE = 1_000  # transactions passed over in a step


class Ended(NamedTuple):
    """How many transactions ended in this run."""

    committed: int = 0
    aborted: int = 0
    timed_out: int = 0
    """Those whose abort was begun for their timeout."""


class Unwritten(NamedTuple):
    """What the end of a transaction, which is decided, waits for."""

    partitions_count: int
    """How many partitions have no marker yet."""
    refused: dict[TopicPartition, str]
    """Those that did not take it, and are asked again, with the name of the error."""
    without_room: frozenset[TopicPartition]
    """Those of them whose disk is full."""
    held_at: str | None = None
    """The step at which a fault holds it up."""


def every_transaction(services: Services) -> list[Transaction]:
    """Every transactional id with its present or last transaction. KafkaError, also while a partition loads."""
    return services.transactions.transactions() if _has_transactions(services) else []


def loaded_transactions(services: Services) -> Iterator[Transaction]:
    """Those of the partitions of `__transaction_state` that are loaded, one after another."""
    if _has_transactions(services):
        for node in services.every_node:
            for partition in node.transactions.loaded():
                yield from list(partition.machine.transactions.values())


def transaction_of(services: Services, transactional_id: str) -> Transaction | None:
    """The present or last transaction of an id, None for an id nobody knows.

    KafkaError while its partition loads, and while no node leads it.
    """
    topic = services.catalogue.topics.get(TRANSACTION_STATE_TOPIC)
    if topic is None:
        return None
    index = partition_for(transactional_id, len(topic.partitions))
    if services.cluster.placement_of(topic.name, index).leader == NO_LEADER:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"no node leads {topic.name}-{index}")
    return services.transactions_of(transactional_id).describe(transactional_id)


def transaction_of_producer(services: Services, producer_id: int) -> Steps[Transaction | None]:
    """The transaction that this producer id is of, among those that are loaded; None without one.

    Those that are not loaded begin to be.
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
    """Whether every partition of `__transaction_state` is led and loaded: what is not found is not there then."""
    if not _has_transactions(services):
        return True
    loaded = sum(1 for node in services.every_node for _ in node.transactions.loaded())
    return loaded >= len(services.catalogue.topics[TRANSACTION_STATE_TOPIC].partitions)


def unwritten(services: Services, transactional_id: str) -> Unwritten | None:
    """Which markers of a transaction that is prepared are not written; None where nothing is being finished."""
    for node in services.every_node if _has_transactions(services) else ():
        for job in node.transactions.markers.jobs_of(transactional_id):
            refused = {where: code.name for where, code in job.parked.items()}
            return Unwritten(len({*job.todo, *job.parked}), refused, frozenset(job.without_room), job.held_at)
    return None


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
