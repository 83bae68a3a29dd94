"""Who wants to know what changed in the catalogue."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from barnabas.broker.metadata.image.image import Topic
    from barnabas.broker.metadata.image.topics import CreatedTopic, NewPartitions


class Placing(Protocol):
    """Who keeps where partitions are, while several nodes share the directory: the catalogue knows of one."""

    @property
    def brokers(self) -> Collection[int]:
        """The ids of all nodes."""

    @property
    def stopped(self) -> Collection[int]:
        """The ids of those that do not run: what was given once changes as they stop and start."""

    def factor(self, topic: str) -> int:
        """How many replicas the partitions of a topic have; for a coordinator's that is not there yet, will have."""

    def placing(self, created: Sequence[CreatedTopic]) -> AbstractContextManager[None]:
        """While these topics, none or some, are written: they are placed, durably, if that succeeds. StorageError."""

    def placing_more(self, grown: Sequence[NewPartitions]) -> AbstractContextManager[None]:
        """As `placing`, for partitions that topics get."""


class CatalogueListener(Protocol):
    """Called after a change is durable and replayed, and before its request is answered. Must not raise."""

    def on_topic_created(self, topic: Topic) -> None: ...

    def on_topic_deleted(self, topic: Topic) -> None:
        """`topic` is as it was; the catalogue no longer has it."""

    def on_partitions_added(self, topic: Topic, first_new: int) -> None:
        """Partitions from `first_new` on are new."""

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """Settings of a topic (2), the broker (4; an empty name: every broker), client metrics (16) or a group (32)."""
