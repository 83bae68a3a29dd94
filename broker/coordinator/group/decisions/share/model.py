"""The values that a share group (KIP-932) consists of: members, requests and replies.

Plain values. Nothing here knows the format of records on disk or of requests on the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from barnabas.broker.coordinator.group.decisions.consumer.model import Topics

SHARE_PROTOCOL = "share"
SHARE_ASSIGNOR = "simple"
"""The name of the only assignor, as ShareGroupDescribe returns it."""

SharedPartitions: TypeAlias = Mapping[bytes, tuple[int, ...]]
"""Topic id -> partitions in ascending order. Several members may have the same partition."""
NO_PARTITIONS: SharedPartitions = MappingProxyType({})


class ShareGroupState(Enum):
    """The states of a share group. The value is the name that ListGroups and ShareGroupDescribe use."""

    EMPTY = "Empty"
    STABLE = "Stable"
    DEAD = "Dead"


class ShareGroupMember(NamedTuple):
    """A member as stored in its records."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()
    """Each once, in the order of Java's strings."""
    assigned: SharedPartitions = NO_PARTITIONS


class BegunTopic(NamedTuple):
    """Partitions of a topic whose states are, or are being, initialized."""

    name: str
    partitions: frozenset[int]


BegunTopics: TypeAlias = Mapping[bytes, BegunTopic]
NOTHING_BEGUN: BegunTopics = MappingProxyType({})
_NO_NAMES: Mapping[bytes, str] = MappingProxyType({})


class ShareStates(NamedTuple):
    """Which share partitions of a group have a state in the share coordinator."""

    initializing: BegunTopics = NOTHING_BEGUN
    initialized: BegunTopics = NOTHING_BEGUN
    deleting: Mapping[bytes, str] = _NO_NAMES
    """Topic id -> name."""

    @property
    def initialized_partitions(self) -> dict[bytes, frozenset[int]]:
        """The partitions that may be assigned."""
        return {topic_id: topic.partitions for topic_id, topic in self.initialized.items()}


class ShareHeartbeatRequest(NamedTuple):
    """ShareGroupHeartbeat; None is a field that has not changed since the last one."""

    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None = None
    topic_names: tuple[str, ...] | None = None
    client_id: str = ""
    client_host: str = ""


class ShareHeartbeatReply(NamedTuple):
    """The reply to a heartbeat."""

    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int = 0
    assignment: SharedPartitions | None = None
    """None: unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupConfig:
    """The settings of share groups; a group's own settings override some of them."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    max_size: int = 200


class ShareContext(NamedTuple):
    """The input of decisions about share groups, besides the group."""

    config_of: Callable[[str], ShareGroupConfig]
    """The settings of a group, by its id."""
    topics: Topics
