# compiled: mypyc
"""A share partition on the node that leads it: its state loaded, changed and stored, and its locks ended in time.

The state itself is `share_partition.py`. Here are the clock, the persister and the requests that wait: they are woken
when the state is loaded, when records are released, and when the start offset moved. (Apache Kafka wakes them on new
records and at the end of a lock only.)

Records that get dead letters (KIP-1191) are archived in a second write, once their letters are written or lost. Until
then the start offset stays before them. A state that is loaded anew waits for that (`burials.py`); after a kill the
letters are written again: at least once.

Invariants: one timer at most, which fires when the first lock ends or before; a partition that is closed begins nothing
any more, but archives the records whose dead letters it was writing.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.partitions.share.dead_letters import DeadLetter, in_groups
from barnabas.broker.partitions.share.in_flight_records import NEVER
from barnabas.broker.partitions.share.persister import (
    NOT_STARTED,
    Persister,
    SharePartitionKey,
    StoredShareState,
)
from barnabas.broker.partitions.share.share_partition import SharePartition
from barnabas.broker.runtime.replies import Reply, ignore_result, reply_to
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from barnabas.broker.config.resources.share_groups import ShareGroupSettings
    from barnabas.broker.partitions.share.acknowledgements import AcknowledgedBatch
    from barnabas.broker.partitions.share.acquisition import Acquired, AcquireRequest, LogRange
    from barnabas.broker.partitions.share.burials import Burials
    from barnabas.broker.partitions.share.dead_letter_queue import DeadLetters
    from barnabas.broker.partitions.share.deliveries import Deliveries
    from barnabas.broker.partitions.share.state_change import StateChange
    from barnabas.broker.runtime.clock import Clock, Timer

_AS_KAFKA = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
"""The codes that members get for those of the persister; UNKNOWN_SERVER_ERROR for all others."""
_FENCING = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
"""The codes after which the state is loaded again."""
_BURIED_MAX = 200
"""So many records are written and archived in one piece."""


class LedSharePartition:
    """One share partition, from its first use on this node until its leader changes."""

    def __init__(
        self,
        key: SharePartitionKey,
        leader_epoch: int,
        persister: Persister,
        dead_letters: DeadLetters,
        burials: Burials,
        settings: Callable[[], ShareGroupSettings],
        clock: Clock,
        deliveries: Deliveries,
        wake: Callable[[], None],
        close: Callable[[LedSharePartition], None],
    ) -> None:
        """Create it. `settings`: the group's, now. `wake`: wakes waiting fetches. `close`: has it loaded again."""
        self.key = key
        self.leader_epoch = leader_epoch
        self._persister = persister
        self._dead_letters = dead_letters
        self._burials = burials
        self._settings = settings
        self._clock = clock
        self.deliveries = deliveries
        self._wake = wake
        self._close = close
        self._timer: Timer | None = None
        self._is_closed = False
        self._writes = 0
        """How many writes of states and of dead letters are under way."""
        self.is_retiring = False
        """Whether it closes once nothing is being written."""
        self.state: SharePartition | None = None
        """None until it is loaded."""
        self.refusal: KafkaError | None = None
        """Why it could not be loaded."""

    def load(self, reset: Callable[[], Reply[int]], loop: AbstractEventLoop) -> None:
        """Read the stored state, after the dead letters that are being written.

        `reset` returns the start offset of a state that has none.
        """
        ended = self._burials.ended(self.key, loop)
        if ended is None:
            self._read(reset)
        else:
            ended.add_done_callback(lambda _: None if self._is_closed else self._read(reset))

    def _read(self, reset: Callable[[], Reply[int]]) -> None:
        reading: Reply[StoredShareState] = self._persister.read(self.key, self.leader_epoch)
        read = reply_to(lambda: reading, lambda stored: self._begin_at(stored, reset))
        if isinstance(read, Future):
            read.add_done_callback(self._loaded)
        else:
            self._begin(read)

    def _begin_at(self, stored: StoredShareState, reset: Callable[[], Reply[int]]) -> Reply[StoredShareState]:
        if stored.start_offset != NOT_STARTED:
            return stored
        return reply_to(reset, lambda offset: stored._replace(start_offset=offset))

    def _loaded(self, read: Future[StoredShareState]) -> None:
        failure = None if read.cancelled() else read.exception()
        try:
            if read.cancelled() or failure is not None:
                raise as_kafka(failure)
            self._begin(read.result())
        except KafkaError as error:
            self.refusal = error
            self._close(self)
        self._wake()

    def _begin(self, stored: StoredShareState) -> None:
        self.state = SharePartition(stored, self.leader_epoch)
        self._bury(self.state.unwritten_dead_letters(self._settings()))

    def close(self) -> None:
        """Stop: the state is of no use any more."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def retire(self) -> None:
        """Close once nothing is being written, unless it is used again until then."""
        self.is_retiring = True
        self._close_if_retired()

    def _close_if_retired(self) -> None:
        if self.is_retiring and not self._writes and not self._is_closed:
            self._close(self)

    # --- deliveries --------------------------------------------------------------------------------------------------

    def acquire(self, request: AcquireRequest, fetch_offset: int, log: Sequence[LogRange]) -> list[Acquired]:
        """Acquire records for a member, as `SharePartition.acquire` does."""
        assert self.state is not None, "only a loaded state is fetched from"
        settings, now = self._settings(), self._clock.monotonic()
        acquired = self.state.acquire(request, fetch_offset, log, settings, now)
        if acquired:
            self._watch_lock(now + settings.record_lock_duration_ms / 1000)
            self.deliveries.acquired(request.member, acquired, settings.record_lock_duration_ms)
        return acquired

    def acknowledge(self, member: str, batches: Sequence[AcknowledgedBatch]) -> Reply[None]:
        """Apply a member's acknowledgements, all or none; answered once they are stored. Raises KafkaError."""
        if self.state is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        change = self.state.acknowledge(member, batches, self._settings(), self._clock.monotonic())
        report = partial(self.deliveries.acknowledged, member, batches, change.update, self.deliveries.cause)
        return self._store(change, report)

    def release(self, member: str) -> None:
        """Release all that a member holds."""
        if self.state is not None:
            change = self.state.release(member, self._settings())
            report = partial(self.deliveries.released, member, change.update, self.deliveries.cause)
            self._store_unasked(change, report)

    def _store_unasked(self, change: StateChange, report: Callable[[], None]) -> Reply[None]:
        stored = self._store(change, report)
        if isinstance(stored, Future):
            ignore_result(stored)
        return stored

    def _store(self, change: StateChange, report: Callable[[], None]) -> Reply[None]:
        """Store a change, and report it once it is stored."""
        if change.update is None:
            report()
            return None
        written = self._persister.write(self.key, change.update)
        self._writes += 1
        if change.dead_letters:
            self._burials.begin(self.key)
        answer: Future[None] = written.get_loop().create_future()
        written.add_done_callback(partial(self._stored, change, answer, report))
        return answer

    def _stored(
        self, change: StateChange, answer: Future[None], report: Callable[[], None], written: Future[None]
    ) -> None:
        assert self.state is not None, "a change is one of a loaded state"
        self._writes -= 1
        failure = None if written.cancelled() else written.exception()
        if not written.cancelled() and failure is None:
            self.state.stored(change)
            report()
            if not answer.done():
                answer.set_result(None)
            self._bury(change.dead_letters)
        else:
            error = as_kafka(failure)
            self._not_stored(change, error)
            if not answer.done():
                answer.set_exception(error)
        if change.dead_letters:
            self._burials.end(self.key)
        self._close_if_retired()
        if not self._is_closed:
            self._wake()

    def _not_stored(self, change: StateChange, error: KafkaError) -> None:
        assert self.state is not None, "a change is one of a loaded state"
        self.state.not_stored(change)
        self._watch_locks()
        if error.code in _FENCING:
            self._close(self)
        elif change.is_final:
            self._bury(change.dead_letters)

    # --- dead letters ------------------------------------------------------------------------------------------------

    def _bury(self, letters: Sequence[DeadLetter]) -> None:
        """Write dead letters, and then archive their records."""
        for group in in_groups(letters, _BURIED_MAX):
            if self._is_closed:
                return
            written = self._dead_letters.write(self.key, group)
            if isinstance(written, Future):
                self._writes += 1
                self._burials.begin(self.key)
                written.add_done_callback(partial(self._late_buried, group))
            else:
                self._buried(group)

    def _late_buried(self, letters: Sequence[DeadLetter], written: Future[None]) -> None:
        self._writes -= 1
        archived = None if written.cancelled() else self._buried(letters)
        if isinstance(archived, Future):
            archived.add_done_callback(lambda _: self._burials.end(self.key))
        else:
            self._burials.end(self.key)
        self._close_if_retired()

    def _buried(self, letters: Sequence[DeadLetter]) -> Reply[None]:
        """Archive the records of these letters. A closed partition does, too, unless its state was taken over."""
        assert self.state is not None, "dead letters are those of a loaded state"
        return self._store_unasked(self.state.archive(letters), _report_nothing)

    # --- locks -------------------------------------------------------------------------------------------------------

    def _watch_locks(self) -> None:
        assert self.state is not None, "only a loaded partition has locks"
        self._watch_lock(self.state.next_deadline)

    def _watch_lock(self, due: float) -> None:
        """Set the timer for a lock. One that fires early, since the lock was renewed or ended, looks for the next."""
        if due == NEVER or self._is_closed or (self._timer is not None and self._timer.due <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        delay_ms = max(0.0, due - self._clock.monotonic()) * 1000
        self._timer = self._clock.call_later(delay_ms, partial(self._end_locks, due))

    def end_locks(self, member: str | None) -> int:
        """End the locks of a member now, or those of all members; return how many records are released by that."""
        now = self._clock.monotonic()
        count = 0 if self.state is None or self._is_closed else self.state.cut_locks_short(member, now)
        if count:
            if self._timer is not None:
                self._timer.cancel()
            self._end_locks(now)
        return count

    def _end_locks(self, due: float) -> None:
        """End the locks that are due; `due` counts as past, though the clock's rounding may call early."""
        assert self.state is not None, "only a loaded partition has locks"
        self._timer = None
        change = self.state.expire(max(due, self._clock.monotonic()), self._settings())
        self.deliveries.lock_ended(change.holders)
        stored = self._store(change, partial(self.deliveries.worn_out, change.update))
        if isinstance(stored, Future):
            ignore_result(stored)
            self._wake()
        self._watch_locks()


def _report_nothing() -> None:
    """Do nothing: the records were reported as archived when their dead letters began to be written."""


def as_kafka(failure: BaseException | None) -> KafkaError:
    """Return the error that members get where the persister failed so."""
    if not isinstance(failure, KafkaError):
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return KafkaError(_AS_KAFKA.get(ErrorCode(failure.code), ErrorCode.UNKNOWN_SERVER_ERROR), failure.message)
