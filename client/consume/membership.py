"""The interface of a group protocol for a consumer: two protocols implement it, and the consumer knows neither.

    ClassicMembership    JoinGroup, SyncGroup, Heartbeat: the members' leader assigns, and a rebalance stops all of them
    ConsumerMembership   ConsumerGroupHeartbeat (KIP-848): the coordinator assigns, and a member revokes only what it
    must

Theory of operation: one thread calls `stay` when a heartbeat is due. Each call is one step: joining, or a heartbeat.
If `to_reconcile` is then another assignment, the consumer commits and revokes the partitions that are not kept, begins
with the new ones, and acknowledges. A member that lost its membership loses all partitions at once, without a commit.

There is no thread for heartbeats, so no lock, and a test sees each step. The price: a program that does not poll for a
session timeout (45 s) is fenced, where Java's client allows five minutes.

Invariants: `stay` and `lose` raise no error that joining again cures; while `is_member` is false, nothing may be read,
committed or acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.metadata import TopicPartition
from barnabas.client.transaction_requests import ConsumerGroupMetadata
from barnabas.protocol.errors import KafkaError


class Assignment(NamedTuple):
    """The partitions to read; `kept` are read on from their position. The rest begins at committed offsets."""

    partitions: frozenset[TopicPartition]
    kept: frozenset[TopicPartition]


class Membership(Protocol):
    """One member of a group."""

    @property
    def is_member(self) -> bool:
        """Whether the group knows this member, so that it may read its assignment."""

    @property
    def to_reconcile(self) -> Assignment | None:
        """An assignment that was not acknowledged yet."""

    def is_settled(self) -> bool:
        """Return whether this member reads its assignment, and the group assigns no more. May request the group.

        KafkaError if that cannot be found out.
        """

    @property
    def next_heartbeat(self) -> Deadline:
        """The time at which `stay` must be called again."""

    @property
    def member(self) -> ConsumerGroupMetadata:
        """The current identity of this member. Its generation is the member epoch in the new protocol."""

    def stay(self) -> None:
        """Join if this is not a member, else send a heartbeat. KafkaError if joining again does not cure it."""

    def acknowledge(self) -> None:
        """Note that this member reads its assignment: `to_reconcile` is done."""

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        """Return the group's committed offsets, None without one. Partitions of open transactions are left out."""

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit these offsets, each the next to be read."""

    def lose(self, error: KafkaError) -> None:
        """End the membership after a refused commit with such an error. Any other error is raised."""

    def leave(self) -> None:
        """Leave now, so that the others need not wait for this member's session to end."""


class GroupProtocol(Protocol):
    """One of the protocols, with its settings."""

    def membership(self, client: Client, group_id: str, topics: Iterable[str]) -> Membership:
        """Return a member that is in no group yet."""
