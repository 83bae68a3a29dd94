"""The values that a classic group consists of: stored state, volatile state, requests and replies.

Plain values with no behaviour beyond reading themselves. `StoredGroup` and `CommittedOffset` are durable: built by
replay, written as records. `Group` is the volatile working state, ahead of the stored one during a rebalance. Nothing
here knows the format of either on the wire or on disk.

"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.broker.coordinator.group.decisions.classic.pending_ids import PendingIds
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.broker.coordinator.runtime.outcome import MayDescribe, no_topic
from barnabas.protocol.errors import ErrorCode

NO_TOPIC_ID = bytes(16)
NO_OFFSET = -1
NO_LEADER_EPOCH = -1
NO_EXPIRY_MS = -1
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""How long a member that never completed a join stays while it waits in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """The broker's configuration for groups; names and defaults are Kafka's, except the initial delay."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 0
    max_size: int = 2_147_483_647
    offset_metadata_max_bytes: int = 4_096
    offsets_commit_timeout_ms: int = 5_000
    offsets_retention_ms: int = 10_080 * 60_000
    offsets_retention_check_interval_ms: int = 600_000


class StoredMember(NamedTuple):
    """A member at the end of a finished generation."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    """The member's metadata for the selected protocol."""
    assignment: bytes


class StoredGroup(NamedTuple):
    """A finished generation, or an empty group."""

    protocol_type: str
    generation_id: int
    protocol_name: str | None
    leader_id: str | None
    state_timestamp_ms: int
    members: tuple[StoredMember, ...] = ()


class CommittedOffset(NamedTuple):
    """The offset that a group committed for one partition."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_EXPIRY_MS
    topic_id: bytes = NO_TOPIC_ID
    """The id of the topic; all zero if the record does not have it."""


class GroupStored(NamedTuple):
    """Record: the group's new state; None: the group is deleted."""

    group_id: str
    stored: StoredGroup | None


class OffsetCommitted(NamedTuple):
    """Record: the committed offset; None: the commit is deleted."""

    group_id: str
    topic: str
    partition: int
    committed: CommittedOffset | None


GroupRecord = GroupStored | OffsetCommitted


class ClassicGroupMember(NamedTuple):
    """A member of the working group."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    """(protocol name, metadata) in the member's order of preference."""
    assignment: bytes = b""

    def metadata(self, protocol_name: str | None) -> bytes:
        """Return the member's metadata for one protocol; empty if it does not support it."""
        return next((metadata for name, metadata in self.protocols if name == protocol_name), b"")


@dataclass(slots=True)
class Group:
    """The working state of a group. A decision never changes its input: it works on a `copy()`.

    Invariants: `state` is Empty exactly when there are no members, except within PreparingRebalance; `joined`,
    `newcomers`, `parked_syncs` and `unsynced` are subsets of `members`; `pending` and `members` are disjoint; each
    value of `instances` is the member with that instance id.
    """

    group_id: str
    state: ClassicGroupState = ClassicGroupState.EMPTY
    state_timestamp_ms: int = -1
    generation_id: int = 0
    protocol_type: str = ""
    protocol_name: str | None = None
    leader_id: str | None = None
    members: dict[str, ClassicGroupMember] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)
    """group.instance.id -> member id"""
    protocol_counts: dict[str, int] = field(default_factory=dict)
    """How many members support each protocol."""
    pending: PendingIds = field(default_factory=PendingIds)
    """Ids assigned with MEMBER_ID_REQUIRED that have not joined yet."""
    joined: set[str] = field(default_factory=set)
    """Members that wait for the end of the join phase."""
    newcomers: set[str] = field(default_factory=set)
    """Members that have never completed a join phase."""
    parked_syncs: set[str] = field(default_factory=set)
    """Members that wait for the leader's assignment."""
    unsynced: set[str] = field(default_factory=set)
    """Members of this generation that have not sent SyncGroup yet."""
    initial_delay_left_ms: int | None = None
    """In a join phase that began in Empty: how much longer it may be extended; None in any other."""
    grew: bool = False
    """A member was added since the initial delay was last armed."""

    def copy(self) -> Group:
        """Return a working copy; the values inside are immutable."""
        return Group(
            self.group_id,
            self.state,
            self.state_timestamp_ms,
            self.generation_id,
            self.protocol_type,
            self.protocol_name,
            self.leader_id,
            self.members.copy(),
            self.instances.copy(),
            self.protocol_counts.copy(),
            self.pending.copy(),
            self.joined.copy(),
            self.newcomers.copy(),
            self.parked_syncs.copy(),
            self.unsynced.copy(),
            self.initial_delay_left_ms,
            self.grew,
        )

    def supports(self, protocol_type: str, protocols: tuple[tuple[str, bytes], ...]) -> bool:
        """Return whether a member with these protocols can be in this group: it shares one or more with *all* members.

        If there are no members, as in a rebalance that waits only for assigned ids, any protocol is shared.

        """
        if self.state is ClassicGroupState.EMPTY:
            return bool(protocol_type) and bool(protocols)
        size = len(self.members)
        return protocol_type == self.protocol_type and any(
            self.protocol_counts.get(name, 0) == size for name, _ in protocols
        )

    def rebalance_timeout_ms(self) -> int:
        """Return the longest rebalance timeout of the members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def check_member(self, member_id: str, group_instance_id: str | None) -> ErrorCode:
        """Return NONE if this member is in the group, under this instance id if it has one; an error otherwise."""
        if group_instance_id is not None:
            holder = self.instances.get(group_instance_id)
            if holder is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if holder != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def check_generation(self, member_id: str, group_instance_id: str | None, generation_id: int) -> ErrorCode:
        """Return NONE if this member is in the group and names its current generation; an error otherwise."""
        error = self.check_member(member_id, group_instance_id)
        if error is ErrorCode.NONE and generation_id != self.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        return error


class JoinRequest(NamedTuple):
    """JoinGroup of any version."""

    group_id: str
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    requires_known_member_id: bool
    """v4 and later: a dynamic new member first gets its id (MEMBER_ID_REQUIRED)."""
    may_skip_assignment: bool
    """v9 and later: a static leader that comes back may get the flag to skip the assignment."""
    may_describe: MayDescribe = no_topic
    """See `HeartbeatRequest`: the group may be a consumer group."""


class JoinedMember(NamedTuple):
    """One member in the reply to the leader."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinReply(NamedTuple):
    error: ErrorCode
    member_id: str
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str = ""
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


class SyncRequest(NamedTuple):
    """SyncGroup of any version."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: tuple[tuple[str, bytes], ...]
    """(member id, assignment), from the leader."""


class SyncReply(NamedTuple):
    error: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class LeavingMember(NamedTuple):
    member_id: str
    group_instance_id: str | None


class OffsetToCommit(NamedTuple):
    """One partition of an OffsetCommit, its topic resolved and known to exist."""

    topic: str
    topic_id: bytes
    partition: int
    offset: int
    leader_epoch: int
    metadata: str
    expire_timestamp_ms: int = NO_EXPIRY_MS


class CommitRequest(NamedTuple):
    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    offsets: tuple[OffsetToCommit, ...]
    has_member_epoch: bool = True
    """Whether the version has member epochs: v9 and later of OffsetCommit, v6 of TxnOffsetCommit."""
