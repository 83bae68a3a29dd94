"""The effect of a fault on a matched request: hold it up, refuse or drop it, lose or throttle its answer, cut it.

In this order: it is held up, by a delay or a pause; then it is applied, or refused, or dropped; then its answer is
sent, lost or cut. A request that is never answered blocks its connection, as in a broker that hangs: no request after
it is served, so answers stay in order.

The memory that a test can make a broker hold is bounded: requests that are held up have a limit in bytes; and a
connection whose answer never comes is closed after a while, since the loss of the peer may not be noticed while
nothing is received from it. All of it is released when its fault is disarmed, and so when the broker stops.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Future
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.api.deferred_response import Answer, CloseConnection, DeferredResponse, changed
from barnabas.broker.control.faults.armed import Armed
from barnabas.broker.control.faults.held_requests import BlockedRequest, HoldReason
from barnabas.broker.control.faults.model import Cut, RequestAction
from barnabas.broker.control.faults.on_requests.frames import joined, size_of
from barnabas.broker.control.faults.on_requests.matched_request import MatchedRequest
from barnabas.broker.control.faults.on_requests.pacing import paced
from barnabas.broker.control.faults.on_requests.refusing import refused
from barnabas.broker.control.faults.on_requests.request_names import about_request
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.broker.api.frame_handler import RequestConnection
    from barnabas.broker.control.faults.registry import FaultRegistry

HELD_BYTES_MAX = 64 << 20
"""Limit for all requests that are held up, without the first."""
UNANSWERED_MS_MAX = 600_000
UNANSWERED_MAX = 1_000
_NOTHING = BlockedRequest(0)
"""Placeholder for a request that is not held up."""


class Actions:
    """The actions of one broker."""

    def __init__(self, registry: FaultRegistry, loop: AbstractEventLoop) -> None:
        self._registry = registry
        self._loop = loop
        self._held_bytes = 0
        self._unanswered: dict[Future[None], None] = {}  # the oldest first

    def do(self, armed: Armed, matched: MatchedRequest, frame: memoryview) -> Answer:
        """Return the answer to a request at which the fault fires, as an `Entry` does."""
        action = armed.fault.action
        assert isinstance(action, RequestAction)
        self._registry.fired(armed, "+".join(armed.fault.definition["do"]), matched.facts())
        about = about_request(matched, frame, self._registry.now_ms()) if action.holds_up else _NOTHING
        if action.pause:
            return self._held(armed, matched, frame, HoldReason.PAUSED, about)
        if action.delay is not None:
            return self._held(armed, matched, frame, HoldReason.DELAYED, about, armed.chances.delay_ms(action.delay))
        if action.throttle is not None:
            return self._held(armed, matched, frame, HoldReason.THROTTLED, about, len(frame) * 1000 / action.throttle)
        return self._go_on(armed, matched, frame, about)

    # --- before the request is applied ---

    def _held(
        self,
        armed: Armed,
        matched: MatchedRequest,
        frame: memoryview,
        why: HoldReason,
        about: BlockedRequest,
        delay_ms: float | None = None,
    ) -> Answer:
        """Answer later. Copies the frame, because its bytes belong to the receiver."""
        size = len(frame)
        if self._held_bytes and self._held_bytes + size > HELD_BYTES_MAX:
            raise CloseConnection(f"more than {HELD_BYTES_MAX} bytes of requests are held up by faults")
        self._held_bytes += size
        copy = memoryview(bytearray(frame))
        future = armed.hold(why, about, delay_ms)
        future.add_done_callback(lambda _: self._note_free(size))
        return DeferredResponse(future, lambda _: self._go_on(armed, matched, copy, about), may_be_given_up=True)

    def _note_free(self, size: int) -> None:
        self._held_bytes -= size

    def _go_on(self, armed: Armed, matched: MatchedRequest, frame: memoryview, about: BlockedRequest) -> Answer:
        """Apply the request, or refuse or drop it."""
        action = armed.fault.action
        assert isinstance(action, RequestAction)
        if action.error is not None:
            return refused(armed, action.error, matched, frame)
        if action.drop:
            return self._never(armed, about) if action.cut is None else _cut_now(armed)
        answer = matched.entry(frame, matched.position, matched.correlation_id, matched.client)
        if action.lose_answer:
            return changed(answer, partial(self._lose, armed, about))
        if action.cut is not None:
            return changed(answer, partial(self._cut, armed, action.cut, matched.client))
        if action.throttle is not None:
            return changed(answer, partial(paced, armed, about, action.throttle, matched.client))
        return answer

    # --- after the request is applied ---

    def _lose(self, armed: Armed, about: BlockedRequest, answer: Answer) -> Answer:
        return None if answer is None else self._never(armed, about)

    def _never(self, armed: Armed, about: BlockedRequest) -> Answer:
        """Never answer: nothing more comes from this connection, until it is closed."""
        if len(self._unanswered) >= UNANSWERED_MAX:
            next(iter(self._unanswered)).set_result(None)
        future = armed.hold(HoldReason.UNANSWERED, about, UNANSWERED_MS_MAX)
        self._unanswered[future] = None
        future.add_done_callback(self._is_over)
        return DeferredResponse(future, lambda _: _cut_now(armed), may_be_given_up=True)

    def _is_over(self, future: Future[None]) -> None:
        self._unanswered.pop(future, None)

    def _cut(self, armed: Armed, where: Cut, client: RequestConnection, answer: Answer) -> Answer:
        """Close the connection once the part of the answer to send is with the kernel."""
        if answer is None or where is Cut.BEFORE:
            return _cut_now(armed)
        assert not isinstance(answer, DeferredResponse)
        if where is Cut.MIDDLE:
            try:
                answer = joined(answer, size_of(answer) // 2)
            except (EOFError, StorageError) as error:
                raise CloseConnection(f"half of the answer could not be read: {error}") from error
        sent = answer
        future: Future[None] = self._loop.create_future()
        future.set_result(None)
        future.add_done_callback(lambda _: client.finish())  # called while the connection still waits for the answer
        return DeferredResponse(future, lambda _: sent, may_be_given_up=True)


def _cut_now(armed: Armed) -> Answer:
    raise CloseConnection(f"fault {armed.name} cuts it")
