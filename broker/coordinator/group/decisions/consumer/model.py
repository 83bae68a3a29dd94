"""The values that a consumer group (KIP-848) consists of: members, what they own, requests and replies.

Plain values. A member is replaced by its successor, never changed; only replay puts one into a group (`replay`).
Nothing here knows the format of records on disk or of requests on the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeAlias

from barnabas.broker.coordinator.group.decisions.modern.members import JOINING_EPOCH
from barnabas.broker.coordinator.runtime.outcome import MayDescribe, no_topic

Owned: TypeAlias = Mapping[bytes, Mapping[int, int]]
"""Topic id -> partition -> the assignment epoch since which the member has it."""
Claimed: TypeAlias = Mapping[bytes, frozenset[int]]
"""Topic id -> the partitions that a member claims to have."""
NOTHING_OWNED: Owned = MappingProxyType({})

_new_tuple: Final = tuple.__new__  # half the cost of a NamedTuple's constructor


class MemberState(IntEnum):
    """The progress of a member towards its target assignment; the number is in its record."""

    STABLE = 0
    """The member has all of the target of its epoch."""
    UNREVOKED_PARTITIONS = 1
    """The member has to revoke partitions, and has not confirmed it yet."""
    UNRELEASED_PARTITIONS = 2
    """The member waits for partitions that others still have."""
    UNKNOWN = 127
    """A state of a later release."""

    @classmethod
    def _missing_(cls, value: object) -> MemberState:
        return cls.UNKNOWN


class GroupState(Enum):
    """The states of a consumer group. The value is the name that ListGroups and ConsumerGroupDescribe use."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    """The target assignment is older than the group's epoch."""
    RECONCILING = "Reconciling"
    """Some member has not reached its target."""
    STABLE = "Stable"
    DEAD = "Dead"


class ClassicMetadata(NamedTuple):
    """The JoinGroup data of a member that uses the classic protocol, stored for the others and for a downgrade."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    """(protocol name, metadata) in the member's order of preference; the first is the one that is used here."""

    @property
    def protocol_name(self) -> str:
        return self.protocols[0][0]


class ConsumerGroupMember(NamedTuple):
    """A member as stored in its records."""

    member_id: str
    member_epoch: int = JOINING_EPOCH
    previous_member_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()
    """Each once, in the order of Java's strings."""
    topic_regex: str | None = ""
    assignor: str | None = None
    assigned: Owned = NOTHING_OWNED
    pending_revocation: Owned = NOTHING_OWNED
    classic: ClassicMetadata | None = None
    """Set if the member uses the classic protocol."""

    def moved_to(
        self, member_epoch: int, state: MemberState, assigned: Owned, pending_revocation: Owned
    ) -> ConsumerGroupMember:
        """Return the same member in another epoch, with its current one as the previous, and with these partitions."""
        return self.with_partitions(member_epoch, self.member_epoch, state, assigned, pending_revocation)

    def with_partitions(
        self,
        member_epoch: int,
        previous_member_epoch: int,
        state: MemberState,
        assigned: Owned,
        pending_revocation: Owned,
    ) -> ConsumerGroupMember:
        """Return the same member with these epochs and partitions, at a third of the cost of `_replace`."""
        fields = (
            self[0],
            member_epoch,
            previous_member_epoch,
            state,
            *self[4:12],
            assigned,
            pending_revocation,
            self[14],
        )
        return _new_tuple(ConsumerGroupMember, fields)

    def counts_as(self, other: ConsumerGroupMember) -> bool:
        """Return whether both have the same subscription, assignor and protocol, which a group counts."""
        return (
            self.topic_names == other.topic_names
            and self.topic_regex == other.topic_regex
            and self.assignor == other.assignor
            and self.classic == other.classic
        )

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch


class ResolvedRegex(NamedTuple):
    """The topics that match a regular expression, at a version of the metadata and a time."""

    topics: tuple[str, ...]
    version: int
    timestamp_ms: int


class MigrationPolicy(Enum):
    """`group.consumer.migration.policy`: how a group with members may change its protocol: (upgrade, downgrade)."""

    DISABLED = (False, False)
    UPGRADE = (True, False)
    DOWNGRADE = (False, True)
    BIDIRECTIONAL = (True, True)

    @property
    def may_upgrade(self) -> bool:
        return self.value[0]

    @property
    def may_downgrade(self) -> bool:
        return self.value[1]

    @property
    def lets_classic_members_in(self) -> bool:
        """Whether members of both protocols may be in one group."""
        return any(self.value)


BUILT_IN_ASSIGNORS = ("uniform", "range")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig:
    """The settings `group.consumer.*`; a group's own settings override some of them."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    max_size: int = 2_147_483_647
    assignors: tuple[str, ...] = BUILT_IN_ASSIGNORS
    """The first is the default."""
    regex_refresh_interval_ms: int = 600_000
    migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL

    def session_timeout_of(self, member: ConsumerGroupMember) -> int:
        """Return the member's session timeout: a member of the classic protocol has set its own."""
        return self.session_timeout_ms if member.classic is None else member.classic.session_timeout_ms


class Topics(Protocol):
    """The existing topics."""

    @property
    def version(self) -> int:
        """A number that changes whenever a topic is created, grown or deleted."""

    @property
    def newest_topic_version(self) -> int:
        """The version in which a topic was last created."""

    @property
    def ids(self) -> Mapping[str, bytes]:
        """Topic ids by name."""

    @property
    def partition_counts(self) -> Mapping[bytes, int]:
        """Numbers of partitions by topic id."""

    def name_of(self, topic_id: bytes) -> str | None:
        """Return the name of the topic with this id, or None if there is none."""

    def hash(self, name: str) -> int:
        """Return Kafka's hash of the assignment's input: id, name, partitions and their racks. Signed, 64 bits."""


class HeartbeatRequest(NamedTuple):
    """ConsumerGroupHeartbeat of any version; None is a field that has not changed since the last one."""

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topic_names: tuple[str, ...] | None = None
    topic_regex: str | None = None
    assignor: str | None = None
    owned: Claimed | None = None
    client_id: str = ""
    client_host: str = ""
    chooses_member_id: bool = True
    """v1 and later: the client has chosen its member id."""
    may_describe: MayDescribe = no_topic
    """Which topics the group's regular expressions may match if this heartbeat has them resolved."""
    classic: ClassicMetadata | None = None
    """Set if a JoinGroup is decided: it has the same data as a heartbeat."""

    @property
    def is_full(self) -> bool:
        """Whether the heartbeat has all fields, as after a lost response; the reply then has all fields, too."""
        has_subscription = self.topic_names is not None or self.topic_regex is not None
        return self.rebalance_timeout_ms != -1 and has_subscription and self.owned is not None


class HeartbeatReply(NamedTuple):
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int = 0
    assignment: Owned | None = None
    """None: unchanged."""


class ConsumerContext(NamedTuple):
    """The input of decisions about consumer groups, besides the group."""

    config_of: Callable[[str], ConsumerConfig]
    """The settings of a group, by its id: the broker's, unless the group has its own."""
    topics: Topics
