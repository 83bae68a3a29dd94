"""The share partitions of a node, created when first needed: most brokers have no share groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.services import Deferred

if TYPE_CHECKING:
    from barnabas.broker.config.resources.share_groups import ShareGroupSettings
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.broker.partitions.share.burials import Burials
    from barnabas.broker.partitions.share.share_partition_manager import SharePartitionManager
    from barnabas.broker.services import Services


_DEAD_LETTERS_SINCE = 2
"""The level of share.version from which there are dead-letter queues (KIP-1191)."""


def deferred_burials() -> Deferred[Burials]:
    """Return what the share partitions of all nodes share."""

    def build() -> Burials:
        from barnabas.broker.partitions.share.burials import Burials

        return Burials()

    return Deferred(build)


def deferred_share_partitions(
    services: Callable[[], Services], led_by_any: Callable[[], Partitions], burials: Deferred[Burials]
) -> Deferred[SharePartitionManager]:
    """Return the share partitions of the node with these services.

    `led_by_any`: the partitions of all nodes. `burials`: of all nodes.
    """

    def build() -> SharePartitionManager:
        from barnabas.broker.metadata.config_resources.groups import GroupConfigs
        from barnabas.broker.partitions.share.dead_letter_queue import DeadLetterQueue
        from barnabas.broker.partitions.share.share_partition_manager import SharePartitionManager

        node = services()
        groups = GroupConfigs(node.catalogue, node.config)

        def settings_of(group_id: str) -> ShareGroupSettings:
            settings = groups.share_group(group_id)
            has_dead_letters = node.share_version >= _DEAD_LETTERS_SINCE
            return settings if has_dead_letters else settings._replace(dead_letter_topic="")

        dead_letters = DeadLetterQueue(
            node.config,
            catalogue=node.catalogue,
            partitions=led_by_any(),
            settings_of=settings_of,
            check_may_grow=node.disk_space.check_may_grow,
            validations=node.batch_validations,
            clock=node.clock,
            writes=node.request_scheduler,
            events=node.events,
        )
        return SharePartitionManager(
            node.config,
            catalogue=node.catalogue,
            settings_of=settings_of,
            partitions=node.partitions,
            persister=node.deferred_persister.get,
            dead_letters=dead_letters,
            burials=burials.get(),
            clock=node.clock,
            waiters=node.purgatory,
            look_ups=node.request_scheduler,
            events=node.events,
        )

    return Deferred(build)
