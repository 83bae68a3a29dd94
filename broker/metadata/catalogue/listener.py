"""The protocols of the objects that the catalogue notifies: of changes, and of new partitions to place."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from barnabas.broker.metadata.image.image import TopicImage
    from barnabas.broker.metadata.image.topic_changes import CreatedTopic, NewPartitions


class Placing(Protocol):
    """Stores the replicas of partitions while several nodes share the directory: the catalogue has only one node."""

    @property
    def brokers(self) -> Collection[int]:
        """The ids of all nodes."""

    @property
    def stopped(self) -> Collection[int]:
        """The ids of the stopped nodes: a live collection, which changes as nodes stop and start."""

    def factor(self, topic: str) -> int:
        """Return the replication factor of a topic; for a coordinator's topic, also before it exists."""

    def placing(self, created: Sequence[CreatedTopic]) -> AbstractContextManager[None]:
        """Hold the placement of new topics, maybe none, during their write; durable on success. Raises StorageError."""

    def placing_more(self, grown: Sequence[NewPartitions]) -> AbstractContextManager[None]:
        """Do the same as `placing` for the partitions that are added to topics."""


class CatalogueListener(Protocol):
    """Called after a change is durable and replayed, and before its request is answered. Must not raise."""

    def on_topic_created(self, topic: TopicImage) -> None: ...

    def on_topic_deleted(self, topic: TopicImage) -> None:
        """Handle the deletion of a topic. `topic` is its last state; the catalogue no longer has it."""

    def on_partitions_added(self, topic: TopicImage, first_new: int) -> None:
        """Handle new partitions: those from number `first_new` on."""

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """Handle changed settings of a topic (2), a broker (4; empty name: all), client metrics (16) or group (32)."""
