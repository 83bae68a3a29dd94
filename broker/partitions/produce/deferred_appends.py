# compiled: mypyc
"""The batches of one Produce request that are appended after its call: each as soon as its own walk is over.

Knows logs and walks, not requests: a function checks again whether a batch is admitted. The outcome of a batch is a
future, which gets a result in every case, whether or not a caller still waits for it. Cancelling it cancels the append.
So these are no replies of `runtime/replies.py`: the appends to a partition wait for each other, and may walk again.

Theory of operation: much may have happened during a walk. The topic may be another one of the same name, which is valid
for a request by name and an error for one by id (Produce v13, KIP-516); its settings may have changed, and then the
batch is walked again for these; the transaction may have ended. So all this is checked once more. Log-append time is
the time of the append.

Invariants: no batch is appended before an earlier one of the request for the same partition that was walked, too; a
batch is counted as parked until it is appended; all that are not over name no more than RECORD_ERRORS_MAX errors.
"""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.runtime.log_lines import line, logger
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.hot.produce import PartitionResult
from barnabas.storage.log.log import PartitionLog
from barnabas.storage.refusals import AppendRefused

if TYPE_CHECKING:
    from barnabas.broker.partitions.partitions import Partitions
    from barnabas.broker.partitions.produce.batch_validations import BatchValidations, PendingValidation
    from barnabas.broker.runtime.clock import Clock

_log = logger("api")
RECORD_ERRORS_MAX = 10_000


class Syncing(NamedTuple):
    """A batch that is appended, and must be on the disk before it is acknowledged."""

    synced: Future[None]
    result: PartitionResult
    log: PartitionLog
    confirm: Callable[[PartitionLog], None] | None
    """Called then to check whether it may be acknowledged, with acks=all; raises KafkaError if not."""


Outcome = PartitionResult | Syncing


class _Late:
    """A batch that is not appended yet."""

    __slots__ = ("after", "answered", "topic_id", "walking")

    def __init__(self, walking: PendingValidation, topic_id: bytes | None, after: Future[Outcome] | None) -> None:
        self.walking = walking
        self.topic_id = topic_id
        self.after = after
        self.answered: Future[Outcome] = walking.walked.get_loop().create_future()


class DeferredAppends:
    """The deferred appends of one request."""

    def __init__(
        self,
        partitions: Partitions,
        walks: BatchValidations,
        clock: Clock,
        produce_version: int,
        check: Callable[[PartitionLog, bytearray], None],
        note_refused: Callable[[PartitionLog, bytearray, ErrorCode], None],
        confirm: Callable[[PartitionLog], None] | None,
    ) -> None:
        """Start empty. check: raises KafkaError if the log may not have the batch. note_refused: called for a refusal.

        confirm: as in Syncing.
        """
        self._partitions = partitions
        self._walks = walks
        self._clock = clock
        self._produce_version = produce_version
        self._check = check
        self._note_refused = note_refused
        self._confirm = confirm
        self._last: dict[tuple[str, int], Future[Outcome]] = {}
        self._answered: list[Future[Outcome]] = []
        self._named = 0  # record errors

    def add(self, walking: PendingValidation, topic_id: bytes | None) -> Future[Outcome]:
        """Append the batch when it is walked. topic_id: the topic's id, if the request named it by id."""
        key = walking.log.topic, walking.log.partition
        late = _Late(walking, topic_id, self._last.get(key))
        self._last[key] = late.answered
        self._answered.append(late.answered)
        walking.walked.add_done_callback(partial(self._go_on, late))
        return late.answered

    def give_up(self) -> None:
        """Cancel all appends that are not done, because the request has failed."""
        for answered in self._answered:
            answered.cancel()

    def _go_on(self, late: _Late, walked: Future[bytearray]) -> None:
        if late.after is not None and not late.after.done():
            late.after.add_done_callback(lambda _: self._go_on(late, walked))
            return
        if late.answered.done():
            self._walks.unpark(late.walking)
            return
        outcome: Outcome | None
        try:
            failure = self._failure_of(walked)
            outcome = self._append(late, walked.result()) if failure is None else self._failed(late, failure)
        except Exception as error:
            outcome = self._failed(late, error)
            if isinstance(error, KafkaError):
                self._note_refused(late.walking.log, walked.result(), error.code)
        if outcome is None:
            return  # it is walked again
        self._walks.unpark(late.walking)
        late.answered.set_result(outcome)

    def _append(self, late: _Late, batch: bytearray) -> Outcome | None:
        partitions, walking = self._partitions, late.walking
        log = partitions.get_led(walking.log.topic, walking.log.partition)
        if late.topic_id is not None and log.topic_id != late.topic_id:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        self._check(log, batch)
        now_ms = self._clock.now_ms()
        if log.config != walking.config and log.needs_walk(batch, now_ms):
            late.walking = again = self._walks.walk_again(walking, batch, log, now_ms, self._produce_version)
            again.walked.add_done_callback(partial(self._go_on, late))
            return None
        result = partitions.append_to(log, batch, now_ms, produce_version=self._produce_version, walked=True)
        answer = PartitionResult(log.partition, 0, result[0], result[2], result[3])
        synced = partitions.synced_log(log, result.last_offset + 1)
        return answer if synced is None else Syncing(synced, answer, log, self._confirm)

    def _failure_of(self, walked: Future[bytearray]) -> BaseException | None:
        """Return the failure of a walk. Not raised: the traceback would make a cycle of the error and the future."""
        if walked.cancelled() or self._walks.is_closed:
            return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the broker stops")
        return walked.exception()

    def _failed(self, late: _Late, error: BaseException) -> PartitionResult:
        index = late.walking.log.partition
        if not isinstance(error, KafkaError):
            _log.error(line("request failed", api="Produce", partition=index, error=repr(error)), exc_info=error)
            return PartitionResult(index, ErrorCode.UNKNOWN_SERVER_ERROR)
        result = shortened(refusal(index, error), RECORD_ERRORS_MAX - self._named)
        self._named += len(result.record_errors)
        return result


def refusal(index: int, error: KafkaError) -> PartitionResult:
    """Return the result of a batch that was not appended."""
    record_errors = error.record_errors if isinstance(error, AppendRefused) else ()
    return PartitionResult(index, error.code, record_errors=record_errors, error_message=error.message)


def shortened(result: PartitionResult, room: int) -> PartitionResult:
    """Return the result with as many record errors as there is room for."""
    if len(result.record_errors) <= room:
        return result
    return result._replace(record_errors=result.record_errors[:room])
