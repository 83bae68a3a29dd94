"""The effective settings of single groups: a group's own settings if it has some, else the broker's.

Read at each decision, as both may change while the broker is running. Independent of the coordinator: a group can have
settings whether it exists or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.config.resources.group_configs import ConsumerGroupSettings, consumer_group_settings
from barnabas.broker.config.resources.share_groups import ShareGroupSettings, share_group_settings
from barnabas.broker.config.resources.streams_groups import StreamsGroupSettings, streams_group_settings
from barnabas.broker.metadata.image.image import GROUP_RESOURCE

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig


class Configured(Protocol):
    """The part of the catalogue that is needed here."""

    def configs_of(self, resource_type: int, name: str) -> Mapping[str, str]: ...


class GroupConfigs:
    """The settings of groups, by group id."""

    def __init__(self, catalogue: Configured, config: BrokerConfig) -> None:
        self._catalogue = catalogue
        self._config = config

    def has_own(self, group_id: str) -> bool:
        """Return whether any setting is set for this group."""
        return bool(self._catalogue.configs_of(GROUP_RESOURCE, group_id))

    def consumer_group(self, group_id: str) -> ConsumerGroupSettings:
        """Return a consumer group's effective settings, in milliseconds, within the broker's bounds."""
        return consumer_group_settings(self._catalogue.configs_of(GROUP_RESOURCE, group_id), self._config)

    def share_group(self, group_id: str) -> ShareGroupSettings:
        """Return a share group's effective settings, within the broker's bounds."""
        return share_group_settings(self._catalogue.configs_of(GROUP_RESOURCE, group_id), self._config)

    def streams_group(self, group_id: str) -> StreamsGroupSettings:
        """Return a streams group's effective settings, within the broker's bounds."""
        return streams_group_settings(self._catalogue.configs_of(GROUP_RESOURCE, group_id), self._config)
