"""Who wants to know what changed in the catalogue."""

from collections.abc import Collection, Sequence
from typing import Protocol

from barnabas.broker.catalogue.image import Topic

Assignments = Sequence[Sequence[int]]
"""The replicas of each partition that is new, or none for automatic ones."""


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

    def place(self, created: Sequence[tuple[Topic, int, Assignments]]) -> None:
        """These topics were created, with so many replicas of each partition, by one request. Must not raise."""

    def place_more(self, grown: Sequence[tuple[Topic, Assignments]]) -> None:
        """These topics have new partitions, which the assignments are of. Must not raise."""


class CatalogueListener(Protocol):
    """Called after a change is durable and replayed, and before its request is answered. Must not raise."""

    def on_topic_created(self, topic: Topic) -> None: ...

    def on_topic_deleted(self, topic: Topic) -> None:
        """`topic` is as it was; the catalogue no longer has it."""

    def on_partitions_added(self, topic: Topic, first_new: int) -> None:
        """Partitions from `first_new` on are new."""

    def on_configs_changed(self, resource_type: int, resource_name: str) -> None:
        """Settings of a topic (2), the broker (4; an empty name: every broker), client metrics (16) or a group (32)."""
