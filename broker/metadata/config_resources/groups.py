"""What is in force for single groups: their own settings where they have some, and the broker's.

Asked at each decision, as both may change while the broker runs. Knows no coordinator: a group has settings whether it
exists or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.config.resources.group_configs import ConsumerGroupSettings, consumer_group_settings
from barnabas.broker.metadata.image.image import GROUP_RESOURCE

if TYPE_CHECKING:
    from barnabas.broker.config import BrokerConfig


class Configured(Protocol):
    """What is asked of the catalogue."""

    def configs_of(self, resource_type: int, name: str) -> Mapping[str, str]: ...


class GroupConfigs:
    """The settings of groups, by group id."""

    def __init__(self, catalogue: Configured, config: BrokerConfig) -> None:
        self._catalogue = catalogue
        self._config = config

    def has_own(self, group_id: str) -> bool:
        """Whether anything was set for this group."""
        return bool(self._catalogue.configs_of(GROUP_RESOURCE, group_id))

    def consumer_group(self, group_id: str) -> ConsumerGroupSettings:
        """What is in force for the members of a consumer group, in milliseconds, inside the broker's bounds."""
        return consumer_group_settings(self._catalogue.configs_of(GROUP_RESOURCE, group_id), self._config)
