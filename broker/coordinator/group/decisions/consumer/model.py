"""The values a consumer group (KIP-848) is made of: members, what they own, what is asked and what is answered.

Plain values. A member is replaced by its successor, never changed; only replay puts one into a group (`replay`).
Nothing here knows how records look on disk or requests on the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias

from barnabas.broker.coordinator.runtime.outcome import MayDescribe, no_topic

JOINING_EPOCH = 0
"""What a member says that joins, and is known as until it has an assignment."""
LEAVING_EPOCH = -1
LEAVING_FOR_A_WHILE_EPOCH = -2
"""What a static member says that will come back; its partitions are kept for it until its session ends."""

Owned: TypeAlias = Mapping[bytes, Mapping[int, int]]
"""Topic id -> partition -> the assignment epoch from which on the member has it."""
Claimed: TypeAlias = Mapping[bytes, frozenset[int]]
"""Topic id -> the partitions that a member says it has."""
NOTHING_OWNED: Owned = MappingProxyType({})


class MemberState(IntEnum):
    """How far a member is on its way to its target assignment; the number is in its record."""

    STABLE = 0
    """It has all of the target of its epoch."""
    UNREVOKED_PARTITIONS = 1
    """It has to give partitions up, and has not said yet that it did."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that others still have."""
    UNKNOWN = 127
    """A state of a later release."""

    @classmethod
    def _missing_(cls, value: object) -> MemberState:
        return cls.UNKNOWN


class GroupState(Enum):
    """The value is the name that ListGroups and ConsumerGroupDescribe use."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    """The target assignment is older than the group's epoch."""
    RECONCILING = "Reconciling"
    """Some member is on its way to its target."""
    STABLE = "Stable"
    DEAD = "Dead"


class ClassicMetadata(NamedTuple):
    """What a member that speaks the classic protocol said in its JoinGroup, kept for the others and for a downgrade."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    """(protocol name, metadata) in the member's order of preference; the first is the one it goes by here."""

    @property
    def protocol_name(self) -> str:
        return self.protocols[0][0]


class Member(NamedTuple):
    """A member as its records have it."""

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
    """Set where the member speaks the classic protocol."""

    def moved_to(self, member_epoch: int) -> Member:
        """The same member in another epoch; it remembers the one before."""
        return self._replace(member_epoch=member_epoch, previous_member_epoch=self.member_epoch)

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.member_epoch == assignment_epoch


class ResolvedRegex(NamedTuple):
    """The topics that match a regular expression, as of a version of the metadata and a time."""

    topics: tuple[str, ...]
    version: int
    timestamp_ms: int


class MigrationPolicy(Enum):
    """`group.consumer.migration.policy`: how a group with members may change its protocol. (upgrade, downgrade)"""

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
    """What the settings `group.consumer.*` say; a group's own settings replace some of them."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    max_size: int = 2_147_483_647
    assignors: tuple[str, ...] = BUILT_IN_ASSIGNORS
    """The first is the default."""
    regex_refresh_interval_ms: int = 600_000
    migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL

    def session_timeout_of(self, member: Member) -> int:
        """A member of the classic protocol has said how long it may be silent."""
        return self.session_timeout_ms if member.classic is None else member.classic.session_timeout_ms


class Topics(Protocol):
    """The topics there are."""

    @property
    def version(self) -> int:
        """Changes whenever a topic is made, grown or deleted."""

    @property
    def newest_topic_version(self) -> int:
        """The version in which a topic was last made."""

    @property
    def ids(self) -> Mapping[str, bytes]:
        """Topic ids by name."""

    @property
    def partition_counts(self) -> Mapping[bytes, int]:
        """Numbers of partitions by topic id."""

    def name_of(self, topic_id: bytes) -> str | None:
        """The name of the topic with this id, or None when there is none."""

    def hash(self, name: str) -> int:
        """Kafka's hash of what the assignment depends on: id, name, partitions and their racks. Signed, 64 bits."""


class HeartbeatRequest(NamedTuple):
    """ConsumerGroupHeartbeat, whatever its version; None is what has not changed since the last one."""

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
    """Which topics the group's regular expressions may find where this heartbeat has them resolved."""
    classic: ClassicMetadata | None = None
    """Set where a JoinGroup is decided: it says as much as a heartbeat."""

    @property
    def is_full(self) -> bool:
        """Everything is said, as after a lost answer; the answer then says everything, too."""
        has_subscription = self.topic_names is not None or self.topic_regex is not None
        return self.rebalance_timeout_ms != -1 and has_subscription and self.owned is not None


class HeartbeatReply(NamedTuple):
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int = 0
    assignment: Owned | None = None
    """None: as it was."""


class ConsumerContext(NamedTuple):
    """What decisions about consumer groups stand on."""

    config_of: Callable[[str], ConsumerConfig]
    """The settings of a group, by its id: the broker's, where it has none of its own."""
    topics: Topics


class MetadataSeen(NamedTuple):
    """The volatile part of a group: the version of the topics that its metadata hash was last compared with."""

    version: int
    group_epoch: int
