# compiled: mypyc
"""The persister of share partitions whose share coordinators are in this process: `Persister` without requests.

Each operation is a call to the coordinator of its share partition. One that is not available (it loads its log, or
another node has just taken over) is called again after a pause, until `share.coordinator.write.timeout.ms` has passed;
then the operation fails with the coordinator's error. All other errors are final.

Invariants: each future is completed once; after its caller has cancelled it, no further call is made. A call is made in
the turn after the one that requests it, in order: a state may have ten thousand ranges, so that its change and its
storing are two turns.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from barnabas.broker.runtime.replies import Reply
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.coordinator.share.share_coordinator import ShareCoordinator
    from barnabas.broker.partitions.share.persister import (
        SharePartitionKey,
        ShareStateSummary,
        ShareStateUpdate,
        StoredShareState,
    )
    from barnabas.broker.runtime.clock import Clock

T = TypeVar("T")

_RETRY_MS, _RETRY_MAX_MS = 20, 500
_NOT_AVAILABLE = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}


class LocalPersister:
    """Calls the share coordinators of this process."""

    def __init__(
        self,
        coordinator_of: Callable[[SharePartitionKey], ShareCoordinator],
        clock: Clock,
        loop: AbstractEventLoop,
        timeout_ms: int,
    ) -> None:
        """Create it. `coordinator_of` returns the coordinator of a share partition at this time; raises KafkaError."""
        self._coordinator_of = coordinator_of
        self._clock = clock
        self._loop = loop
        self._timeout_ms = timeout_ms

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Future[None]:
        """Begin a state, or begin it anew with a higher state epoch."""
        return self._call(key, lambda coordinator: coordinator.initialize(key, state_epoch, start_offset))

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Future[StoredShareState]:
        """Return the state, for the leader with this epoch."""
        return self._call(key, lambda coordinator: coordinator.read(key, leader_epoch))

    def write(self, key: SharePartitionKey, update: ShareStateUpdate) -> Future[None]:
        """Store a change; done when it is durable."""
        return self._call(key, lambda coordinator: coordinator.write(key, update))

    def summarize(self, key: SharePartitionKey, leader_epoch: int) -> Future[ShareStateSummary]:
        """Return the progress. The leader epoch fences nothing, as in Kafka."""
        return self._call(key, lambda coordinator: coordinator.summarize(key))

    def delete(self, key: SharePartitionKey) -> Future[None]:
        """Delete the state; a state that does not exist counts as deleted."""
        return self._call(key, partial(_delete, key))

    def _call(self, key: SharePartitionKey, call: Callable[[ShareCoordinator], Reply[T]]) -> Future[T]:
        answer: Future[T] = self._loop.create_future()
        attempts = _Attempts(self._coordinator_of, key, call, answer, self._clock, self._timeout_ms)
        self._loop.call_soon(attempts.make)
        return answer


class _Attempts(Generic[T]):
    """One operation, called until it is answered."""

    def __init__(
        self,
        coordinator_of: Callable[[SharePartitionKey], ShareCoordinator],
        key: SharePartitionKey,
        call: Callable[[ShareCoordinator], Reply[T]],
        answer: Future[T],
        clock: Clock,
        timeout_ms: int,
    ) -> None:
        self._coordinator_of = coordinator_of
        self._key = key
        self._call_once = call
        self._answer = answer
        self._clock = clock
        self._deadline_s = clock.monotonic() + timeout_ms / 1000
        self._pause_ms = _RETRY_MS

    def make(self) -> None:
        """Make the next call."""
        if self._answer.done():
            return
        coordinator: ShareCoordinator | None = None
        try:
            coordinator = self._coordinator_of(self._key)
            reply = self._call_once(coordinator)
        except KafkaError as refusal:
            self._refused(refusal, coordinator)
            return
        if isinstance(reply, Future):
            reply.add_done_callback(self._replied)
        else:
            self._answer.set_result(reply)

    def _replied(self, reply: Future[Any]) -> None:
        failure = None if reply.cancelled() else reply.exception()
        if self._answer.done():
            return
        if reply.cancelled():
            self._answer.cancel()
        elif isinstance(failure, KafkaError):
            self._refused(failure, None)
        elif failure is not None:
            self._answer.set_exception(failure)
        else:
            self._answer.set_result(reply.result())

    def _refused(self, refusal: KafkaError, coordinator: ShareCoordinator | None) -> None:
        is_stopping = coordinator is not None and coordinator.is_closed
        left_ms = (self._deadline_s - self._clock.monotonic()) * 1000
        if refusal.code not in _NOT_AVAILABLE or is_stopping or left_ms <= 0:
            self._answer.set_exception(refusal.as_value())
            return
        self._clock.call_later(min(self._pause_ms, left_ms), self.make)
        self._pause_ms = min(2 * self._pause_ms, _RETRY_MAX_MS)


def _delete(key: SharePartitionKey, coordinator: ShareCoordinator) -> Reply[None]:
    try:
        return coordinator.delete(key)
    except KafkaError as refusal:
        if refusal.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return None  # its states are deleted with a topic
        raise
