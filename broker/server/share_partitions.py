"""The share partitions of a node, created when first needed: most brokers have no share groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.services import Deferred

if TYPE_CHECKING:
    from barnabas.broker.partitions.share.share_partition_manager import SharePartitionManager
    from barnabas.broker.services import Services


def deferred_share_partitions(services: Callable[[], Services]) -> Deferred[SharePartitionManager]:
    """Return the share partitions of the node with these services."""

    def build() -> SharePartitionManager:
        from barnabas.broker.metadata.config_resources.groups import GroupConfigs
        from barnabas.broker.partitions.share.share_partition_manager import SharePartitionManager

        node = services()
        return SharePartitionManager(
            node.config,
            catalogue=node.catalogue,
            group_configs=GroupConfigs(node.catalogue, node.config),
            partitions=node.partitions,
            persister=node.deferred_persister.get,
            clock=node.clock,
            waiters=node.purgatory,
            look_ups=node.request_scheduler,
            events=node.events,
        )

    return Deferred(build)
