"""The effective settings of single groups: a group's own settings if it has some, else the broker's.

Read at each decision, as both may change while the broker is running. Those of share groups are read several times for
each fetch: they are remembered until either changes. Independent of the coordinator: a group can have settings whether
it exists or not.
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

_REMEMBERED_MAX = 1_000
"""Groups whose settings are remembered: clients choose their names."""


class Configured(Protocol):
    """The part of the catalogue that is needed here."""

    def configs_of(self, resource_type: int, name: str) -> Mapping[str, str]: ...


class GroupConfigs:
    """The settings of groups, by group id."""

    def __init__(self, catalogue: Configured, config: BrokerConfig) -> None:
        self._catalogue = catalogue
        self._config = config
        self._share_groups: dict[str, tuple[Mapping[str, str], ShareGroupSettings]] = {}
        """By group id: its own settings, and those in force at `_changes`."""
        self._changes = config.changes

    def has_own(self, group_id: str) -> bool:
        """Return whether any setting is set for this group."""
        return bool(self._catalogue.configs_of(GROUP_RESOURCE, group_id))

    def consumer_group(self, group_id: str) -> ConsumerGroupSettings:
        """Return a consumer group's effective settings, in milliseconds, within the broker's bounds."""
        return consumer_group_settings(self._catalogue.configs_of(GROUP_RESOURCE, group_id), self._config)

    def share_group(self, group_id: str) -> ShareGroupSettings:
        """Return a share group's effective settings, within the broker's bounds."""
        own = self._catalogue.configs_of(GROUP_RESOURCE, group_id)
        if self._changes != self._config.changes or len(self._share_groups) > _REMEMBERED_MAX:
            self._changes = self._config.changes
            self._share_groups.clear()
        known = self._share_groups.get(group_id)
        if known is None or known[0] != own:
            known = self._share_groups[group_id] = dict(own), share_group_settings(own, self._config)
        return known[1]

    def streams_group(self, group_id: str) -> StreamsGroupSettings:
        """Return a streams group's effective settings, within the broker's bounds."""
        return streams_group_settings(self._catalogue.configs_of(GROUP_RESOURCE, group_id), self._config)
