# compiled: mypyc
"""The decisions of the share coordinator: one function for each request, and two that no request makes.

Pure: they get the state of the share partition, and return records and the reply, or raise KafkaError. Codes are those
of Kafka 4.4.0: INVALID_REQUEST for a state that was never begun and for a negative epoch, FENCED_LEADER_EPOCH and
FENCED_STATE_EPOCH for requests that are late. A late change moves no progress back; that happens only when a state
begins anew.
"""

from __future__ import annotations

from barnabas.broker.coordinator.share.decisions.batches import merged
from barnabas.broker.coordinator.share.decisions.model import (
    ShareOutcome,
    ShareState,
    SnapshotWritten,
    TrackedShareState,
    UpdateWritten,
)
from barnabas.broker.partitions.share.persister import (
    NOT_STARTED,
    UNKNOWN_COUNT,
    SharePartitionKey,
    ShareStateSummary,
    ShareStateUpdate,
    StoredShareState,
)
from barnabas.protocol.errors import ErrorCode, KafkaError

_FIRST_LEADER_EPOCH = 0
_NO_SUMMARY = ShareStateSummary(0, 0, NOT_STARTED, UNKNOWN_COUNT)


def initialize(
    tracked: TrackedShareState | None, key: SharePartitionKey, state_epoch: int, start_offset: int, *, now_ms: int
) -> ShareOutcome:
    """Begin a state, or begin it anew. What was stored before does not count any more."""
    _check_not_negative("state", state_epoch)
    _check_state_epoch(tracked, state_epoch)
    state = ShareState(
        snapshot_epoch=0 if tracked is None else tracked.state.snapshot_epoch + 1,
        state_epoch=state_epoch,
        leader_epoch=_FIRST_LEADER_EPOCH,
        start_offset=start_offset,
        delivery_complete_count=UNKNOWN_COUNT if start_offset == NOT_STARTED else 0,
        batches=(),
        created_ms=now_ms,
        written_ms=now_ms,
    )
    return ShareOutcome(records=(SnapshotWritten(key, state),))


def read(
    tracked: TrackedShareState | None,
    key: SharePartitionKey,
    leader_epoch: int,
    *,
    updates_per_snapshot: int,
    now_ms: int,
) -> ShareOutcome:
    """Return the state as the reply. A new leader epoch is stored, and fences requests of earlier leaders."""
    if tracked is None:
        raise _never_begun("Read")
    _check_not_negative("leader", leader_epoch)
    _check_leader_epoch(tracked, leader_epoch)
    state = tracked.state
    reply = StoredShareState(state.state_epoch, state.start_offset, state.batches)
    if leader_epoch == tracked.max_leader_epoch:
        return ShareOutcome(reply=reply)
    update = ShareStateUpdate(
        state.state_epoch, leader_epoch, state.start_offset, state.delivery_complete_count, batches=()
    )
    outcome = _changed(tracked, key, update, leader_epoch, updates_per_snapshot, now_ms)
    return outcome._replace(reply=reply)


def write(
    tracked: TrackedShareState | None,
    key: SharePartitionKey,
    update: ShareStateUpdate,
    *,
    updates_per_snapshot: int,
    now_ms: int,
) -> ShareOutcome:
    """Store a change: as an update or, after many, as a snapshot."""
    if tracked is None:
        raise _never_begun("Write")
    _check_not_negative("leader", update.leader_epoch)
    _check_not_negative("state", update.state_epoch)
    _check_leader_epoch(tracked, update.leader_epoch)
    _check_state_epoch(tracked, update.state_epoch)
    return _changed(tracked, key, update, tracked.state.leader_epoch, updates_per_snapshot, now_ms)


def summarize(tracked: TrackedShareState | None) -> ShareStateSummary:
    """Return the progress of a share partition, begun or not."""
    if tracked is None:
        return _NO_SUMMARY
    state = tracked.state
    return ShareStateSummary(state.state_epoch, state.leader_epoch, state.start_offset, state.delivery_complete_count)


def delete(tracked: TrackedShareState | None, key: SharePartitionKey) -> ShareOutcome:
    """End a state; one that does not exist needs no record."""
    return ShareOutcome() if tracked is None else ShareOutcome(records=(SnapshotWritten(key, None),))


def repeat(tracked: TrackedShareState | None, key: SharePartitionKey, interval_ms: int, *, now_ms: int) -> ShareOutcome:
    """Write the snapshot of a state again whose last one is old, so that the log before it can be deleted."""
    if tracked is None or now_ms - tracked.state.written_ms < interval_ms:
        return ShareOutcome()
    state = tracked.state
    return ShareOutcome(
        records=(SnapshotWritten(key, state._replace(snapshot_epoch=state.snapshot_epoch + 1, written_ms=now_ms)),)
    )


def is_repeated(tracked: TrackedShareState) -> bool:
    """Return whether the last snapshot repeats an earlier state. Where all do, nothing is written any more."""
    return tracked.state.created_ms != tracked.state.written_ms


def _changed(
    tracked: TrackedShareState,
    key: SharePartitionKey,
    update: ShareStateUpdate,
    leader_epoch: int,
    updates_per_snapshot: int,
    now_ms: int,
) -> ShareOutcome:
    state = tracked.state
    start_offset, count = max(state.progress, (update.start_offset, update.delivery_complete_count))
    if tracked.updates_count < updates_per_snapshot:
        batches = merged((), update.batches, start_offset)
        return ShareOutcome(
            records=(UpdateWritten(key, state.snapshot_epoch, leader_epoch, start_offset, count, batches),)
        )
    after = ShareState(
        snapshot_epoch=state.snapshot_epoch + 1,
        state_epoch=state.state_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=count,
        batches=merged(state.batches, update.batches, start_offset),
        created_ms=now_ms,
        written_ms=now_ms,
    )
    return ShareOutcome(records=(SnapshotWritten(key, after),))


def _check_leader_epoch(tracked: TrackedShareState, leader_epoch: int) -> None:
    if leader_epoch < tracked.max_leader_epoch:
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)


def _check_state_epoch(tracked: TrackedShareState | None, state_epoch: int) -> None:
    if tracked is not None and state_epoch < tracked.max_state_epoch:
        raise KafkaError(ErrorCode.FENCED_STATE_EPOCH)


def _check_not_negative(name: str, epoch: int) -> None:
    if epoch < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"The {name} epoch cannot be a negative number.")


def _never_begun(what: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, f"{what} operation on uninitialized share partition not allowed.")
