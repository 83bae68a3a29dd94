# compiled: mypyc
"""The share partitions of one partition of `__share_group_state`: the state that replay builds from its records.

Driven by the runtime (`runtime.Machine`). Only `replay` changes it, at run time and at start alike; nothing is
volatile, and no decision sets a timer. The log may come from another broker: an update without a snapshot
before it begins a state, as in Kafka. An update never moves the progress back.
"""

from __future__ import annotations

from barnabas.broker.coordinator.runtime.outcome import TimerKey
from barnabas.broker.coordinator.share.decisions import records
from barnabas.broker.coordinator.share.decisions.batches import merged
from barnabas.broker.coordinator.share.decisions.model import (
    UNKNOWN_EPOCH,
    ShareOutcome,
    ShareRecord,
    ShareState,
    SnapshotWritten,
    TrackedShareState,
    UpdateWritten,
)
from barnabas.broker.partitions.share.persister import NOT_STARTED, UNKNOWN_COUNT, SharePartitionKey

_NOTHING = ShareState(0, 0, UNKNOWN_EPOCH, NOT_STARTED, UNKNOWN_COUNT, (), 0, 0)


class ShareMachine:
    """All share partitions of one partition of the topic."""

    records_are_whole = False

    def __init__(self, updates_per_snapshot: int) -> None:
        """Create an empty machine. `updates_per_snapshot`: how many updates of a state there may be in a row."""
        self.tracked: dict[SharePartitionKey, TrackedShareState] = {}
        self._updates_per_snapshot = updates_per_snapshot
        self._needed_at_least = 0

    def needed_offset(self) -> int:
        """Return the offset in the log before which no record is needed."""
        return min((each.snapshot_offset for each in self.tracked.values()), default=self._needed_at_least)

    # Called by the runtime

    def encode(self, record: ShareRecord) -> tuple[bytes, bytes | None]:
        return records.encode(record)

    def decode(self, key: bytes | None, value: bytes | None) -> ShareRecord | None:
        return records.decode(key, value)

    def replay(self, record: ShareRecord, record_offset: int, producer_id: int = -1) -> None:
        before = self.tracked.get(record.key)
        if isinstance(record, UpdateWritten):
            self.tracked[record.key] = _updated(before, record, record_offset)
        elif record.state is None:
            self.tracked.pop(record.key, None)
            self._needed_at_least = record_offset
        else:
            self.tracked[record.key] = self._begun(before, record, record.state, record_offset)

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """Do nothing: there are no transactional records in this topic."""

    def install(self, entity_id: str, volatile: None) -> None:
        """Do nothing: there is no volatile state."""

    def timer_fired(self, entity_id: str, timer: TimerKey, now_ms: int) -> ShareOutcome:
        """Raise AssertionError: no decision sets a timer."""
        raise AssertionError(f"a share partition has no timer {timer.kind}")

    def _begun(
        self, before: TrackedShareState | None, record: SnapshotWritten, state: ShareState, offset: int
    ) -> TrackedShareState:
        assert record.state is state
        if before is None:
            return TrackedShareState(state, state.leader_epoch, state.state_epoch, 0, offset)
        is_due = before.updates_count >= self._updates_per_snapshot
        return TrackedShareState(
            state,
            max(before.max_leader_epoch, state.leader_epoch),
            max(before.max_state_epoch, state.state_epoch),
            0 if is_due else before.updates_count,
            offset,
        )


def _updated(before: TrackedShareState | None, record: UpdateWritten, offset: int) -> TrackedShareState:
    if before is None:
        begun = _NOTHING._replace(snapshot_epoch=record.snapshot_epoch)
        before = TrackedShareState(begun, record.leader_epoch, begun.state_epoch, 0, offset)
    state = before.state
    start_offset, count = max(state.progress, (record.start_offset, record.delivery_complete_count))
    after = state._replace(
        start_offset=start_offset,
        delivery_complete_count=count,
        leader_epoch=state.leader_epoch if record.leader_epoch == UNKNOWN_EPOCH else record.leader_epoch,
        batches=merged(state.batches, record.batches, start_offset),
    )
    return before._replace(
        state=after,
        max_leader_epoch=max(before.max_leader_epoch, record.leader_epoch),
        updates_count=before.updates_count + 1,
    )
