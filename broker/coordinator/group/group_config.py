"""The group settings of the broker's configuration, as a value: the decisions know no configuration keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.coordinator.group.decisions.classic.model import GroupConfig
from barnabas.broker.coordinator.group.decisions.consumer.model import (
    BUILT_IN_ASSIGNORS,
    ConsumerConfig,
    MigrationPolicy,
)
from barnabas.broker.coordinator.group.decisions.share.model import ShareGroupConfig

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig
    from barnabas.broker.coordinator.group.decisions.consumer.model import Topics
    from barnabas.broker.coordinator.group.decisions.streams.model import StreamsContext
    from barnabas.broker.metadata.config_resources.groups import GroupConfigs


def group_config(config: BrokerConfig) -> GroupConfig:
    """Return the settings of all groups, and of classic ones."""
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


class ConsumerConfigs:
    """The settings of consumer groups: the group's own ones, if it has some, and the broker's.

    Read at each heartbeat, so the common settings of all groups without their own are cached.
    """

    def __init__(self, config: BrokerConfig, of_groups: GroupConfigs) -> None:
        self._config = config
        self._of_groups = of_groups
        self._common: ConsumerConfig | None = None
        self._common_since = config.changes

    def of(self, group_id: str) -> ConsumerConfig:
        """Return the settings of a group, whether it exists or not."""
        if self._of_groups.has_own(group_id):
            return self._made(group_id)
        if self._common is None or self._common_since != self._config.changes:
            self._common_since = self._config.changes
            self._common = self._made(group_id)
        return self._common

    def _made(self, group_id: str) -> ConsumerConfig:
        config, of_group = self._config, self._of_groups.consumer_group(group_id)
        return ConsumerConfig(
            session_timeout_ms=of_group.session_timeout_ms,
            heartbeat_interval_ms=of_group.heartbeat_interval_ms,
            assignment_interval_ms=of_group.assignment_interval_ms,
            max_size=config.integer("group.consumer.max.size"),
            migration_policy=MigrationPolicy[config.string("group.consumer.migration.policy").upper()],
            assignors=tuple(config.strings("group.consumer.assignors")) or BUILT_IN_ASSIGNORS,
        )


def streams_context(config: BrokerConfig, of_groups: GroupConfigs, topics: Topics) -> StreamsContext:
    """Return the input of decisions about streams groups. Few brokers have any: imported at their first use."""
    from barnabas.broker.coordinator.group.decisions.streams.model import StreamsConfig, StreamsContext

    def config_of(group_id: str) -> StreamsConfig:
        max_size = config.integer("group.streams.max.size")
        return StreamsConfig(max_size=max_size, **of_groups.streams_group(group_id)._asdict())

    return StreamsContext(config_of, topics)


class ShareConfigs:
    """The settings of share groups: the group's own ones, if it has some, and the broker's."""

    def __init__(self, config: BrokerConfig, of_groups: GroupConfigs) -> None:
        self._config = config
        self._of_groups = of_groups

    def of(self, group_id: str) -> ShareGroupConfig:
        """Return the settings of a group, whether it exists or not."""
        of_group = self._of_groups.share_group(group_id)
        return ShareGroupConfig(
            session_timeout_ms=of_group.session_timeout_ms,
            heartbeat_interval_ms=of_group.heartbeat_interval_ms,
            assignment_interval_ms=of_group.assignment_interval_ms,
            max_size=self._config.integer("group.share.max.size"),
        )
