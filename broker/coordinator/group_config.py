"""The groups' part of the broker's configuration, as the decisions take it: they know no configuration keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.coordinator.group.classic.model import GroupConfig
from barnabas.broker.coordinator.group.consumer.model import BUILT_IN_ASSIGNORS, ConsumerConfig, MigrationPolicy

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.config_resources.groups import GroupConfigs


def group_config(config: BrokerConfig) -> GroupConfig:
    """What the keys say of all groups, and of classic ones."""
    return GroupConfig(
        min_session_timeout_ms=config.integer("group.min.session.timeout.ms"),
        max_session_timeout_ms=config.integer("group.max.session.timeout.ms"),
        initial_rebalance_delay_ms=config.integer("group.initial.rebalance.delay.ms"),
        max_size=config.integer("group.max.size"),
        offset_metadata_max_bytes=config.integer("offset.metadata.max.bytes"),
        offsets_commit_timeout_ms=config.integer("offsets.commit.timeout.ms"),
        offsets_retention_ms=config.integer("offsets.retention.minutes") * 60_000,
        offsets_retention_check_interval_ms=config.integer("offsets.retention.check.interval.ms"),
    )


def consumer_config(config: BrokerConfig, of_groups: GroupConfigs, group_id: str) -> ConsumerConfig:
    """What the keys say of a consumer group: its own settings, where it has some, and the broker's."""
    own = of_groups.consumer_group(group_id)
    policy = config.text("group.consumer.migration.policy")
    assert policy is not None, "it has a default"
    return ConsumerConfig(
        session_timeout_ms=own.session_timeout_ms,
        heartbeat_interval_ms=own.heartbeat_interval_ms,
        assignment_interval_ms=own.assignment_interval_ms,
        max_size=config.integer("group.consumer.max.size"),
        migration_policy=MigrationPolicy[policy.upper()],
        assignors=tuple(config.strings("group.consumer.assignors")) or BUILT_IN_ASSIGNORS,
    )
