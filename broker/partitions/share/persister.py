"""The stored state of share partitions, as the partitions and the group coordinator use it (KIP-932's persister).

Knows no records and no topic: the share coordinator implements `Persister` over `__share_group_state`. Each operation
returns a future; it fails with the KafkaError of the coordinator. An operation that meets a coordinator that is still
loading waits for it, within `share.coordinator.write.timeout.ms`.

Invariants: states are stored in ranges that do not overlap; what is acquired is never stored.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import partial
from typing import NamedTuple, Protocol

NOT_STARTED = -1
"""The start offset of a share partition to which no reset has been applied."""
UNKNOWN_COUNT = -1
"""The delivery complete count of a state that was written without one."""


class SharePartitionKey(NamedTuple):
    """A partition of a topic as one share group reads it."""

    group_id: str
    topic_id: bytes
    """16 bytes."""
    partition: int

    def coordinator_key(self, shown_topic_id: str) -> str:
        """Return the key that FindCoordinator (type 2) takes, with the topic id in Kafka's base 64."""
        return f"{self.group_id}:{shown_topic_id}:{self.partition}"


class DeliveryState(IntEnum):
    """The state of records of a share partition, with Kafka's numbers."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4


FINISHED_STATES = frozenset({DeliveryState.ACKNOWLEDGED, DeliveryState.ARCHIVED})
"""The states of records that will never be delivered again."""


class StateBatch(NamedTuple):
    """A range of records in one state."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


as_state_batch: Callable[[tuple[int, int, int, int]], StateBatch] = partial(tuple.__new__, StateBatch)
"""Makes a batch of its fields at two thirds of the cost of its constructor: a state may have ten thousand."""


class StoredShareState(NamedTuple):
    """The state of a share partition as it was stored."""

    state_epoch: int
    start_offset: int
    batches: tuple[StateBatch, ...]


class ShareStateSummary(NamedTuple):
    """The stored progress of a share partition."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int


class ShareStateUpdate(NamedTuple):
    """A change of a share partition's state: the ranges that changed, and no others."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: Sequence[StateBatch]


class Persister(Protocol):
    """Stores the states of share partitions."""

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Future[None]:
        """Begin a state, or begin it anew with a higher state epoch."""

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Future[StoredShareState]:
        """Return the state, for the leader with this epoch."""

    def write(self, key: SharePartitionKey, update: ShareStateUpdate) -> Future[None]:
        """Store a change; done when it is durable."""

    def summarize(self, key: SharePartitionKey, leader_epoch: int) -> Future[ShareStateSummary]:
        """Return the progress."""

    def delete(self, key: SharePartitionKey) -> Future[None]:
        """Delete the state; a state that does not exist counts as deleted."""
