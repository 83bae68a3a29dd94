"""What a consumer in a group needs of a group protocol: two protocols implement it, and the consumer knows neither.

    ClassicMembership    JoinGroup, SyncGroup, Heartbeat: the members' leader assigns, and a rebalance stops all of them
    ConsumerMembership   ConsumerGroupHeartbeat (KIP-848): the coordinator assigns, and a member gives up what it must

Theory of operation: one thread calls `stay` when a heartbeat is due. Each call is one step: joining, or a heartbeat.
Where `to_reconcile` then tells of another assignment, the consumer commits and gives up what is not kept, begins with
what is new, and acknowledges. A member that is none any more has lost everything at once, without a commit.

Invariants: `stay` and `lose` raise nothing that joining again cures; while `is_member` is false, nothing may be read,
committed or acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.metadata import TopicPartition
from barnabas.client.transaction_requests import GroupMember
from barnabas.protocol.errors import KafkaError


class Assignment(NamedTuple):
    """What is to be read; and of that, what is read on from where it is. The rest begins at committed offsets."""

    partitions: frozenset[TopicPartition]
    kept: frozenset[TopicPartition]


class Membership(Protocol):
    """One member of a group."""

    @property
    def is_member(self) -> bool:
        """Whether the group knows this member, so that it may read what it was assigned."""

    @property
    def to_reconcile(self) -> Assignment | None:
        """An assignment that was not acknowledged yet."""

    def is_settled(self) -> bool:
        """Whether this member reads what it is to read, and the group is not about to give it more. May ask the group.

        KafkaError if that cannot be told.
        """

    @property
    def next_heartbeat(self) -> Deadline:
        """When `stay` is to be called again."""

    @property
    def member(self) -> GroupMember:
        """Who this member is at the moment. Its generation is the member epoch in the new protocol."""

    def stay(self) -> None:
        """Join if this is no member, else send a heartbeat. KafkaError for what joining again does not cure."""

    def acknowledge(self) -> None:
        """This member reads what it is to read: `to_reconcile` is done."""

    def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        """What the group committed for these, None for nothing. Left out is what an open transaction commits for."""

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit these offsets, each the next to be read."""

    def lose(self, error: KafkaError) -> None:
        """Be no member any more, after a refused commit that says so. Any other error is raised."""

    def leave(self) -> None:
        """Leave now, so that the others need not wait for this member's session to end."""


class GroupProtocol(Protocol):
    """One of the protocols, with its settings."""

    def membership(self, client: Client, group_id: str, topics: Iterable[str]) -> Membership:
        """A member that is in no group yet."""
