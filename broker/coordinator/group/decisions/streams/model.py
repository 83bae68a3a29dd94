"""The values that a streams group (KIP-1071) consists of: members, requests, replies and settings.

Plain values. A member is replaced by its successor, never changed; only replay puts one into a group (`replay`).
Nothing here knows the format of requests on the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import NamedTuple

from barnabas.broker.coordinator.group.decisions.consumer.model import (
    Topics,
)
from barnabas.broker.coordinator.group.decisions.modern.group import VolatileState
from barnabas.broker.coordinator.group.decisions.modern.members import JOINING_EPOCH
from barnabas.broker.coordinator.group.decisions.streams.task_offsets import ReportedOffset, TaskOffsets
from barnabas.broker.coordinator.group.decisions.streams.tasks import NO_OWNED_TASKS, OwnedTasks, TaskSets
from barnabas.broker.coordinator.group.decisions.streams.topics.copartitioning import TopologyStatus
from barnabas.broker.coordinator.group.decisions.streams.topics.internal_topics import ConfiguredTopology, InternalTopic
from barnabas.broker.coordinator.group.decisions.streams.topics.topology import StreamsTopology

_NO_TAGS: Mapping[str, str] = MappingProxyType({})


class StreamsMemberState(IntEnum):
    """The progress of a member towards its target assignment; the number is in its record."""

    STABLE = 1
    UNREVOKED_TASKS = 2
    """The member has to give tasks up, and has not confirmed it yet."""
    UNRELEASED_TASKS = 3
    """The member waits for tasks that others still have."""
    UNKNOWN = 127
    """A state of a later release."""

    @classmethod
    def _missing_(cls, value: object) -> StreamsMemberState:
        return cls.UNKNOWN


class StreamsGroupState(Enum):
    """The states of a streams group. The value is the name that ListGroups and StreamsGroupDescribe use."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    """The topics do not fit the topology."""
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class UserEndpoint(NamedTuple):
    """The address of a process for interactive queries."""

    host: str
    port: int


class StreamsGroupMember(NamedTuple):
    """A member as stored in its records."""

    member_id: str
    member_epoch: int = JOINING_EPOCH
    previous_member_epoch: int = -1
    state: StreamsMemberState = StreamsMemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    user_endpoint: UserEndpoint | None = None
    client_tags: Mapping[str, str] = _NO_TAGS
    assigned: OwnedTasks = NO_OWNED_TASKS
    pending_revocation: OwnedTasks = NO_OWNED_TASKS

    def moved_to(self, member_epoch: int) -> StreamsGroupMember:
        """Return the same member in another epoch, with its current one as the previous."""
        return self._replace(member_epoch=member_epoch, previous_member_epoch=self.member_epoch)

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is StreamsMemberState.STABLE and self.member_epoch == assignment_epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsConfig:
    """The settings `group.streams.*`; a group's own settings override some of them."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    assignment_interval_ms: int = 1_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2_147_483_647
    num_standby_replicas: int = 0
    rack_aware_tags: tuple[str, ...] = ()
    """The client tags that each member must have."""
    task_offset_interval_ms: int = 60_000
    acceptable_recovery_lag: int = 10_000

    @property
    def assignment_configs(self) -> Mapping[str, str]:
        """The settings that the target depends on; a change of one makes a new target necessary."""
        configs = {"num.standby.replicas": str(self.num_standby_replicas)}
        if self.rack_aware_tags:
            configs["rack.aware.assignment.tags"] = ",".join(self.rack_aware_tags)
        return configs


class StreamsContext(NamedTuple):
    """The input of decisions about streams groups, besides the group."""

    config_of: Callable[[str], StreamsConfig]
    """The settings of a group, by its id."""
    topics: Topics


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsVolatile(VolatileState):
    """The part of a streams group that is lost with the process, as in Kafka."""

    configured: ConfiguredTopology | None = None
    """The topology compared with the topics; None after a start."""
    topics_version: int = -1
    """The version of the topics that the metadata hash was last computed from."""
    group_epoch: int = 0
    """The epoch that followed from them: if it was never written, they are compared again."""
    is_delayed: bool = False
    """Whether the timer of the initial rebalance delay runs."""
    shutdown_member_id: str | None = None
    """The member that requested the shutdown of the application."""
    endpoint_epoch: int = 0
    """Rises whenever an endpoint changes, or the tasks of a member with an endpoint."""
    task_offsets: Mapping[str, TaskOffsets] = field(default_factory=dict)
    """Member id -> what it has reported."""


class StreamsHeartbeatRequest(NamedTuple):
    """StreamsGroupHeartbeat of any version; None is a field that has not changed since the last one."""

    group_id: str
    member_id: str
    member_epoch: int
    endpoint_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: StreamsTopology | None = None
    owned: TaskSets | None = None
    process_id: str | None = None
    user_endpoint: UserEndpoint | None = None
    client_tags: Mapping[str, str] | None = None
    task_offsets: Sequence[ReportedOffset] | None = None
    task_end_offsets: Sequence[ReportedOffset] | None = None
    shutdown_application: bool = False
    client_id: str = ""
    client_host: str = ""


class GroupStatus(NamedTuple):
    """One status in the answer to a heartbeat."""

    status: TopologyStatus
    detail: str


class EndpointTasks(NamedTuple):
    """The topic partitions of a member with an endpoint."""

    endpoint: UserEndpoint
    active: Mapping[str, tuple[int, ...]]
    """Topic name -> partitions."""
    standby: Mapping[str, tuple[int, ...]]


class StreamsHeartbeatReply(NamedTuple):
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int = 0
    task_offset_interval_ms: int = 0
    acceptable_recovery_lag: int = -1
    """-1: unknown, as the member leaves."""
    statuses: tuple[GroupStatus, ...] = ()
    tasks: TaskSets | None = None
    """None: unchanged."""
    endpoint_epoch: int = 0
    endpoints: tuple[EndpointTasks, ...] | None = None
    """None: unchanged."""
    missing_topics: tuple[InternalTopic, ...] = ()
    """The internal topics to create now."""
