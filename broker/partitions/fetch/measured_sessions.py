# compiled: mypyc
"""Fetch sessions whose answers are checked against a quota before they are sent.

Used only while there are quotas; otherwise requests use the sessions directly. A refused answer has no partitions, and
its session stores nothing of it: the client retries the same fetch (Kafka's `getThrottledResponse`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barnabas.broker.partitions.fetch.fetch_sessions import Answers, FetchContext, FetchSessions
from barnabas.protocol.hot.fetch import FetchedPartition, FetchRequest
from barnabas.storage.steps import Steps

Judge = Callable[[Answers], bool]
"""Whether the client may have these topics now."""


class MeasuredSessions(FetchSessions):
    """The sessions of a broker, with a judge that checks answers."""

    def __init__(self, sessions: FetchSessions) -> None:
        super().__init__(sessions._slots, sessions._clock, sessions._random_id)
        self._sessions = sessions._sessions
        self.judge: Judge | None = None
        """The judge of the answer to the next request; `begin` takes it."""

    def begin(self, request: FetchRequest, uses_topic_ids: bool) -> FetchContext:
        """Begin a request as FetchSessions.begin does, with the current judge."""
        judge, self.judge = self.judge, None
        context = super().begin(request, uses_topic_ids)
        return context if judge is None else MeasuredContext(context, judge, self._forget)

    def _forget(self, session_id: int) -> None:
        self._sessions.pop(session_id, None)


class MeasuredContext(FetchContext):
    """One request, whose answer is checked once it is known."""

    def __init__(self, context: FetchContext, judge: Judge, forget: Callable[[int], None]) -> None:
        super().__init__(context.wanted, context._session, context._is_incremental)
        self._judge = judge
        self._forget = forget

    def answer(self, results: Sequence[FetchedPartition], *, unknown_last: bool) -> tuple[int, Answers]:
        """Return the answer of FetchContext.answer, or an empty one if the judge refuses it."""
        nothing = self._unless_granted(results)
        return super().answer(results, unknown_last=unknown_last) if nothing is None else nothing

    def answer_in_steps(self, results: Sequence[FetchedPartition], *, unknown_last: bool) -> Steps[tuple[int, Answers]]:
        """Return the answer of FetchContext.answer_in_steps, or an empty one if the judge refuses it."""
        nothing = self._unless_granted(results)
        return (yield from super().answer_in_steps(results, unknown_last=unknown_last)) if nothing is None else nothing

    def _unless_granted(self, results: Sequence[FetchedPartition]) -> tuple[int, Answers] | None:
        if self._judge(self.preview(results)):
            return None
        if self._session is not None and not self._is_incremental:
            self._forget(self._session.session_id)
        return self.answer_nothing()
