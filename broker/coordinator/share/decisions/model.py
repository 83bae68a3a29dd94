"""The share coordinator's state and records, as values.

A share partition's state begins with a snapshot; updates change it; a tombstone ends it. Two epochs fence late
requests: that of the share partition's leader, and the state epoch, which rises when a state is begun anew.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from barnabas.broker.coordinator.runtime.outcome import Outcome
from barnabas.broker.partitions.share.persister import SharePartitionKey, StateBatch

UNKNOWN_EPOCH = -1
"""No leader has read or written the state."""


class ShareState(NamedTuple):
    """The state of one share partition."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]
    """In order, without overlaps."""
    created_ms: int
    written_ms: int
    """When its snapshot was written; later than `created_ms` if that repeats a state that had not changed."""

    @property
    def progress(self) -> tuple[int, int]:
        """The start offset, and how many records are complete from there on: of two changes the larger is the later."""
        return self.start_offset, self.delivery_complete_count


class SnapshotWritten(NamedTuple):
    """Record: the whole state of a share partition; None deletes it."""

    key: SharePartitionKey
    state: ShareState | None


class UpdateWritten(NamedTuple):
    """Record: a change of a share partition's state."""

    key: SharePartitionKey
    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]


ShareRecord: TypeAlias = SnapshotWritten | UpdateWritten
ShareOutcome: TypeAlias = Outcome[ShareRecord, None]


class TrackedShareState(NamedTuple):
    """A share partition's state, and what its records have shown beside it."""

    state: ShareState
    max_leader_epoch: int
    max_state_epoch: int
    updates_count: int
    """The updates since the count was reset by a snapshot that was due."""
    snapshot_offset: int
    """The offset of the last snapshot in the log; what is before it is not needed."""
