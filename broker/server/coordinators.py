"""The coordinators of a node, created when first needed: so a start does not wait the thirty ms for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.services import Deferred
from barnabas.protocol.primitives import uuid_text

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.coordinator import GroupCoordinator, TransactionCoordinator
    from barnabas.broker.coordinator.group.catalogue_topics import Racks
    from barnabas.broker.coordinator.group.decisions.group_machine import GroupMachine
    from barnabas.broker.coordinator.runtime.decision_listener import DecisionListener
    from barnabas.broker.coordinator.share.share_coordinator import ShareCoordinator
    from barnabas.broker.coordinator.transaction.decisions.transaction_machine import TransactionMachine
    from barnabas.broker.coordinator.transaction.offset_markers import OffsetMarkers
    from barnabas.broker.coordinator.transaction.producer_ids import ProducerIds
    from barnabas.broker.metadata.catalogue import Catalogue
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.broker.partitions.share.persister import Persister, SharePartitionKey
    from barnabas.broker.runtime.clock import Clock
    from barnabas.broker.runtime.events import Events
    from barnabas.broker.runtime.scheduler import CooperativeScheduler


class Parts(NamedTuple):
    """The objects that the coordinators of all nodes share."""

    config: BrokerConfig
    catalogue: Catalogue
    clock: Clock
    machine_clock: Clock
    upkeep: CooperativeScheduler
    producer_ids: ProducerIds
    random_bytes: Callable[[int], bytes]
    events: Events
    after_answer: Callable[[Callable[[], None]], None]


def deferred_groups(
    parts: Parts, partitions: Partitions, persister: Callable[[], Persister], racks: Racks | None = None
) -> Deferred[GroupCoordinator]:
    """Return the group coordinator of the node with these partitions.

    `racks`: as in `GroupCoordinator.open`. `persister` returns the store of the states of share groups.
    """

    def build() -> GroupCoordinator:
        from barnabas.broker.coordinator.group.group_coordinator import GroupCoordinator
        from barnabas.broker.coordinator.runtime.decision_listener import ListenerFactory

        return GroupCoordinator.open(
            parts.config,
            catalogue=parts.catalogue,
            partitions=partitions,
            clock=parts.clock,
            machine_clock=parts.machine_clock,
            upkeep=parts.upkeep,
            random_bytes=parts.random_bytes,
            racks=racks,
            persister=persister,
            listener_factory=ListenerFactory(parts.events, _group_listener),
        )

    return Deferred(build)


def deferred_transactions(
    parts: Parts,
    partitions: Partitions,
    offsets: Callable[[], OffsetMarkers],
    marked: Partitions | None = None,
) -> Deferred[TransactionCoordinator]:
    """Return the node's transaction coordinator. `offsets`: ends its transactions in `__consumer_offsets`.

    `marked`: the partitions in which it may end transactions, if not the node's own.
    """

    def build() -> TransactionCoordinator:
        from barnabas.broker.coordinator.runtime.decision_listener import ListenerFactory
        from barnabas.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator

        return TransactionCoordinator.open(
            parts.config,
            catalogue=parts.catalogue,
            partitions=partitions,
            marked=marked,
            offsets=offsets,
            clock=parts.clock,
            machine_clock=parts.machine_clock,
            upkeep=parts.upkeep,
            fresh_producer_id=parts.producer_ids.next,
            after_answer=parts.after_answer,
            listener_factory=ListenerFactory(parts.events, _transaction_listener),
        )

    return Deferred(build)


def deferred_shares(parts: Parts, partitions: Partitions) -> Deferred[ShareCoordinator]:
    """Return the share coordinator of the node with these partitions."""

    def build() -> ShareCoordinator:
        from barnabas.broker.coordinator.events.share_states import ShareStateEvents
        from barnabas.broker.coordinator.share.share_coordinator import ShareCoordinator

        def topic_name(topic_id: bytes) -> str:
            topic = parts.catalogue.topics_by_id.get(topic_id)
            return uuid_text(topic_id) if topic is None else topic.name

        return ShareCoordinator.open(
            parts.config,
            catalogue=parts.catalogue,
            partitions=partitions,
            clock=parts.clock,
            machine_clock=parts.machine_clock,
            upkeep=parts.upkeep,
            steps=ShareStateEvents(parts.events, topic_name),
        )

    return Deferred(build)


def deferred_persister(
    parts: Parts, coordinator_of: Callable[[SharePartitionKey], ShareCoordinator]
) -> Deferred[Persister]:
    """Return the store of the states of share partitions. `coordinator_of`: as in `LocalPersister`."""

    def build() -> Persister:
        from barnabas.broker.coordinator.share.local_persister import LocalPersister

        timeout_ms = parts.config.integer("share.coordinator.write.timeout.ms")
        return LocalPersister(coordinator_of, parts.machine_clock, parts.upkeep.loop, timeout_ms)

    return Deferred(build)


def _group_listener(machine: GroupMachine, events: Events) -> DecisionListener:
    from barnabas.broker.coordinator.events.groups import GroupEvents

    return GroupEvents(machine, events)


def _transaction_listener(machine: TransactionMachine, events: Events) -> DecisionListener:
    from barnabas.broker.coordinator.events.transactions import TransactionEvents

    return TransactionEvents(machine, events)


class Deferrals(NamedTuple):
    """The coordinators of a node that is the only one, under the names of `Services`."""

    deferred_groups: Deferred[GroupCoordinator]
    deferred_transactions: Deferred[TransactionCoordinator]
    transactions_of: Callable[[str], TransactionCoordinator]
    deferred_shares: Deferred[ShareCoordinator]
    deferred_persister: Deferred[Persister]


def deferred_coordinators(parts: Parts, partitions: Partitions) -> Deferrals:
    """Return the coordinators of a node that is the only one."""
    shares = deferred_shares(parts, partitions)
    persister = deferred_persister(parts, lambda _: shares.get())
    groups = deferred_groups(parts, partitions, persister.get)
    transactions = deferred_transactions(parts, partitions, groups.get)
    return Deferrals(groups, transactions, lambda _: transactions.get(), shares, persister)
