# compiled: mypyc
"""One share partition: which records a share group has in flight, who holds them, and how far it has come (KIP-932).

A pure state machine: no clock, no log, no storage. Times are parameters, in seconds; what has to be stored is returned
as a `StateChange`, and the caller calls `stored` or `not_stored` once its write has ended. What a member acknowledges
is visible after that; a lock that ends is visible at once.

    acquire             AVAILABLE, or never acquired  → ACQUIRED, with a lock; the delivery count rises
    acknowledge         ACQUIRED → ACKNOWLEDGED (accept), ARCHIVED (reject, gap), AVAILABLE (release)
    release, expire     ACQUIRED → AVAILABLE
    every release       at the limit of deliveries → ARCHIVED
    log start moved     all below it is dropped

In a group with a dead-letter queue (KIP-1191), what is rejected or released at the limit becomes ARCHIVING first, and
ARCHIVED by `archive`, once its dead letters are written. A state that is loaded with ARCHIVING records goes on there.

Invariants: everything below `start_offset` is finished, and nothing is in flight from `end_offset` on; `start_offset`
never falls; a record in flight has one holder at most; only finished records at the front move the start offset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from barnabas.broker.config.resources.share_groups import ShareGroupSettings
from barnabas.broker.partitions.share.acknowledgements import (
    AcknowledgedBatch,
    acknowledged_cells,
    check_held,
)
from barnabas.broker.partitions.share.acquisition import Acquired, AcquireRequest, Acquisition, LogRange
from barnabas.broker.partitions.share.dead_letters import DeadLetter, DeadLetterCause, joined
from barnabas.broker.partitions.share.in_flight_records import (
    NEVER,
    DeliveryCell,
    InFlightBatch,
    InFlightRecords,
    gap_between,
)
from barnabas.broker.partitions.share.persister import (
    DeliveryState,
    ShareStateUpdate,
    StateBatch,
    StoredShareState,
)
from barnabas.broker.partitions.share.state_change import (
    StateChange,
    finished_state,
    released_state,
    state_batches,
    worn_out,
)
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.errors import ErrorCode, KafkaError

_STATES = tuple(DeliveryState)
"""The states by number: their numbers are 0 to 4."""


class SharePartition:
    """The state of one share partition, on the node that leads the partition."""

    def __init__(self, stored: StoredShareState, leader_epoch: int) -> None:
        """Begin with the stored state, whose start offset is known. Raises KafkaError for one that is not valid."""
        self.leader_epoch = leader_epoch
        self._state_epoch = stored.state_epoch
        self.start_offset = stored.start_offset
        self.end_offset = stored.start_offset
        """The offset after the records in flight."""
        self._in_flight = InFlightRecords()
        self._may_have_available = True
        self._load(stored.batches)
        self._advance()

    def _load(self, stored: Iterable[StateBatch]) -> None:
        """Take the stored ranges, and gaps for the offsets between them."""
        batches: list[InFlightBatch] = []
        end = self.end_offset
        for first, last, state, count in stored:
            if not end <= first <= last or not 0 <= state < len(_STATES):
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the stored state of the share partition is not valid")
            if end < first:
                batches.append(gap_between(end, first - 1))
            batches.append(InFlightBatch([DeliveryCell(first, last, _STATES[state], count)]))
            end = last + 1
        self._in_flight.extend(batches)
        self.end_offset = end

    # --- what a fetch sees -------------------------------------------------------------------------------------------

    @property
    def span(self) -> int:
        """The number of offsets in flight, finished ones among them."""
        return self.end_offset - self.start_offset if self._in_flight else 0

    @property
    def next_fetch_offset(self) -> int:
        """The first offset that can be acquired."""
        if self._may_have_available:
            available = self._in_flight.first_available()
            if available is not None:
                return available.first
            self._may_have_available = False
        return self.end_offset

    def can_acquire(self, settings: ShareGroupSettings) -> bool:
        """Return whether a fetch may acquire records, if the log has some."""
        return self.next_fetch_offset != self.end_offset or self.span < settings.partition_max_record_locks

    @property
    def next_deadline(self) -> float:
        """When the first lock ends."""
        held = (cell.deadline for cell in self._in_flight.cells() if cell.change is None)
        return min(held, default=NEVER)

    @property
    def batches_count(self) -> int:
        """The number of batches in flight."""
        return len(self._in_flight.batches)

    def cells(self) -> Iterator[DeliveryCell]:
        """Return what is in flight, in order, for readers, which must not change it."""
        return self._in_flight.cells()

    @property
    def delivery_complete_count(self) -> int:
        """The number of finished records from the start offset on."""
        return self._in_flight.finished_count()

    # --- acquiring ---------------------------------------------------------------------------------------------------

    def acquire(
        self,
        wanted: AcquireRequest,
        fetch_offset: int,
        log: Sequence[LogRange],
        settings: ShareGroupSettings,
        now: float,
    ) -> list[Acquired]:
        """Acquire records for a member, out of the batches that the log has from `fetch_offset` on."""
        if not log or log[-1].last < self.start_offset or wanted.records_max <= 0:
            return []
        last = log[-1].last
        most = min(wanted.records_max, settings.partition_max_record_locks - self.span)
        if most <= 0:  # only what is in flight already
            last = min(last, self.end_offset - 1)
            most = min(wanted.records_max, last - fetch_offset + 1)
            if most <= 0:
                return []
        base = log[0].first
        self._archive_missing(fetch_offset, base)
        first = max(base, self.start_offset)
        deadline = now + settings.record_lock_duration_ms / 1000
        acquisition = Acquisition(self._in_flight, wanted._replace(records_max=most), log, settings, deadline)
        acquisition.take_known(first, last)
        begin = max(first, self.end_offset)
        if begin <= last:
            was_empty = not self._in_flight
            self.end_offset = max(self.end_offset, acquisition.take_new(begin, last))
            if was_empty and self._in_flight:
                self.start_offset = begin
        self._may_have_available = True
        return self._without_aborted(acquisition.acquired, log)

    def _archive_missing(self, first: int, end: int) -> None:
        """Archive records that the log does not have any more."""
        for batch in self._in_flight.between(first, end - 1) if first < end else ():
            batch.is_gap = False
            for cell in batch.cut(first, end - 1):
                if cell.is_available:
                    cell.state = DeliveryState.ARCHIVED
        self._advance()

    def _without_aborted(self, acquired: list[Acquired], log: Sequence[LogRange]) -> list[Acquired]:
        """Archive the records of aborted transactions, and return the others."""
        for aborted in (each for each in log if each.is_aborted):
            kept: list[Acquired] = []
            for each in acquired:
                first, last = max(each.first, aborted.first), min(each.last, aborted.last)
                if first > last:
                    kept.append(each)
                    continue
                self._archive(first, last)
                kept += [each._replace(last=first - 1)] if each.first < first else []
                kept += [each._replace(first=last + 1)] if last < each.last else []
            acquired = kept
        self._advance()
        return acquired

    def _archive(self, first: int, last: int) -> None:
        for batch in self._in_flight.between(first, last):
            for cell in batch.cut(first, last):
                cell.state, cell.member, cell.deadline = DeliveryState.ARCHIVED, "", NEVER

    # --- ends of deliveries ------------------------------------------------------------------------------------------

    def acknowledge(
        self, member: str, batches: Sequence[AcknowledgedBatch], settings: ShareGroupSettings, now: float
    ) -> StateChange:
        """Apply a member's acknowledgements, all of them or none. Raises KafkaError."""
        check_held(self._in_flight, batches, self.start_offset, member)
        renews = not settings.renew_acknowledge_enabled and any(AcknowledgeType.RENEW in each.types for each in batches)
        if renews:
            raise KafkaError(ErrorCode.INVALID_RECORD_STATE, "Renewing acquisition locks is not enabled for the group.")
        changed: list[DeliveryCell] = []
        letters: list[DeadLetter] = []
        after, archiving, renew = _states_after(settings), DeliveryState.ARCHIVING, AcknowledgeType.RENEW
        deadline = now + settings.record_lock_duration_ms / 1000
        for batch in batches:
            for cell, kind in acknowledged_cells(self._in_flight, batch, self.start_offset):
                if kind is renew:
                    cell.deadline = deadline
                    continue
                state = after[kind]
                if state is None:
                    state = released_state(cell, settings)
                cell.state = state
                changed.append(cell)
                if state is archiving:
                    letters.append(_dead_letter(cell, is_rejected=kind is AcknowledgeType.REJECT))
        change = self._change(changed, member)
        change.dead_letters = joined(letters)
        return change

    def release(self, member: str, settings: ShareGroupSettings) -> StateChange:
        """Release all that a member holds, because its session ends."""
        held = self._held_by(member)
        for cell in held:
            cell.state = released_state(cell, settings)
        change = self._change(held, member)
        change.dead_letters = worn_out(held)
        return change

    def cut_locks_short(self, member: str | None, now: float) -> int:
        """Let the locks of a member end now, or those of all members: `expire` then releases the records.

        Return the number of records.
        """
        held = self._held_by(member)
        for cell in held:
            cell.deadline = now
        return sum(cell.size for cell in held)

    def _held_by(self, member: str | None) -> list[DeliveryCell]:
        """Return what a member holds, or all members, without what a change under way has acknowledged."""
        return [
            cell
            for cell in self._in_flight.cells()
            if cell.state is DeliveryState.ACQUIRED and cell.change is None and member in (None, cell.member)
        ]

    def expire(self, now: float, settings: ShareGroupSettings) -> StateChange:
        """Release what is held longer than its lock."""
        late = [cell for cell in self._in_flight.cells() if cell.deadline <= now and cell.change is None]
        holders: dict[str, list[tuple[int, int]]] = {}
        for cell in late:
            assert cell.state is DeliveryState.ACQUIRED, "only an acquired record has a lock"
            holders.setdefault(cell.member, []).append((cell.first, cell.last))
            cell.state, cell.deadline, cell.member = released_state(cell, settings), NEVER, ""
        self._may_have_available |= bool(late)
        change = self._change(late, None)
        change.dead_letters = worn_out(late)
        change.holders = holders
        return change

    def archive(self, letters: Iterable[DeadLetter]) -> StateChange:
        """Finish records whose dead letters are written, or cannot be."""
        cells = [
            cell
            for letter in letters
            for batch in self._in_flight.between(letter.first, letter.last)
            for cell in batch.cut(letter.first, letter.last)
            if cell.state is DeliveryState.ARCHIVING
        ]
        for cell in cells:
            cell.state = DeliveryState.ARCHIVED
        return self._change(cells, None)

    def unwritten_dead_letters(self, settings: ShareGroupSettings) -> list[DeadLetter]:
        """Return the dead letters that were perhaps not written before the state was loaded.

        The cause is not stored: as in Kafka it follows from the number of deliveries.
        """
        limit = settings.delivery_count_limit
        return joined(
            _dead_letter(cell, is_rejected=cell.count < limit)
            for cell in self._in_flight.cells()
            if cell.state is DeliveryState.ARCHIVING
        )

    def _change(self, cells: list[DeliveryCell], member: str | None) -> StateChange:
        change = StateChange(cells, member)
        if cells:
            change.update = ShareStateUpdate(
                self._state_epoch,
                self.leader_epoch,
                self.start_offset,
                self.delivery_complete_count,
                state_batches(cells),
            )
        return change

    def stored(self, change: StateChange) -> None:
        """Make a change visible: it is stored."""
        change.finish()
        self._settle()

    def not_stored(self, change: StateChange) -> None:
        """Take a change back: it could not be stored. One that was visible at once stays."""
        change.undo()
        self._settle()

    def _settle(self) -> None:
        self._may_have_available = True
        for batch in self._in_flight.batches:
            if len(batch.cells) > 1:
                batch.join_cells()
        self._advance()

    def _advance(self) -> None:
        self.start_offset = self._in_flight.advance_over_finished(self.start_offset)
        self.end_offset = max(self.end_offset, self.start_offset)

    def follow_log_start(self, log_start_offset: int) -> None:
        """Drop what the log does not have any more: its start offset moved."""
        if log_start_offset > self.start_offset:
            self._in_flight.drop_before(log_start_offset)
            self.start_offset = log_start_offset
            self.end_offset = max(self.end_offset, log_start_offset)
            self._advance()


def _states_after(settings: ShareGroupSettings) -> tuple[DeliveryState | None, ...]:
    """Return the states of acknowledged records by the number of the type; None where the record decides."""
    return DeliveryState.ARCHIVED, DeliveryState.ACKNOWLEDGED, None, finished_state(settings), None


def _dead_letter(cell: DeliveryCell, *, is_rejected: bool) -> DeadLetter:
    cause = DeadLetterCause.REJECTED if is_rejected else DeadLetterCause.WORN_OUT
    return DeadLetter(cell.first, cell.last, cell.count, cause)
