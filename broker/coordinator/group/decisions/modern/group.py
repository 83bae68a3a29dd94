"""What the coordinator needs to know of a modern group, of whichever type, and how records change one.

A new type is a subclass of `ModernGroup` and a `ReplayTable` of its records, which `durable_groups` lists.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Any, ClassVar, NamedTuple

from barnabas.broker.coordinator.group.decisions.modern.records import KeyedRecord
from barnabas.protocol.codec.schema import Stored


class MetadataSeen(NamedTuple):
    """The volatile part of a group: the topics' version that its metadata hash was last compared with."""

    version: int
    group_epoch: int


class VolatileState:
    """The base of what a group of one type loses with the process, where that is more than `MetadataSeen`."""

    __slots__ = ()


class ModernGroup(ABC):
    """A group of consumers to which the coordinator assigns partitions.

    Everything here is durable and changed by replay alone, except `metadata_seen`; `changes` counts replayed records,
    so that a decision in steps detects that the group has changed.
    """

    group_type: ClassVar[str]
    """The type that ListGroups names."""
    protocol_type: ClassVar[str]
    members: Mapping[str, Any]

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.group_epoch = 0
        self.metadata_seen: MetadataSeen | None = None
        self.changes = 0

    @property
    @abstractmethod
    def state(self) -> Enum:
        """The state; its value is the name that ListGroups uses."""

    @abstractmethod
    def subscribed_topics(self) -> Collection[str]:
        """Return every topic that a member subscribes to."""

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed_topics()

    @abstractmethod
    def tombstones(self) -> list[KeyedRecord]:
        """Return the records that delete the group, without its offsets."""

    def install(self, volatile: MetadataSeen | VolatileState) -> None:
        """Store the volatile part of the group after a decision."""
        assert isinstance(volatile, MetadataSeen), volatile
        self.metadata_seen = volatile

    @abstractmethod
    def copy(self) -> ModernGroup:
        """Return a copy to replay on."""


class ReplayTable(NamedTuple):
    """How the records of one type of group change the group."""

    group_class: type[ModernGroup]
    group_key: type[Stored]
    """The key of the record whose tombstone deletes the group."""
    apply: Mapping[type[Stored], Callable[[Any, Any, Any], None]]
    """By the type of the key: a function that applies key and value to the group."""

    def replay(self, groups: dict[str, ModernGroup], group_id: str, record: KeyedRecord) -> None:
        """Apply one record to the groups, by id: it alone writes their durable state, at run time and at start alike.

        A tombstone for an entry that does not exist changes nothing: compaction may have removed the entry. A record
        with a value creates its group if necessary.
        """
        group = groups.get(group_id)
        if group is None or not isinstance(group, self.group_class):
            if record.value is None:
                return
            group = groups[group_id] = self.group_class(group_id)
        if record.value is None and isinstance(record.key, self.group_key):
            del groups[group_id]
            return
        group.changes += 1
        self.apply[type(record.key)](group, record.key, record.value)
