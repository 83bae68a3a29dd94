# compiled: mypyc
"""Fetch sessions (KIP-227): a client names its partitions once, then only the changes; so does the answer.

Knows partitions by the client's names for them (name or id) and the last answer for them; reads no log.

    (session id, epoch)   meaning                    answer
    (0, -1)               no session                 everything, session id 0
    (s,  0)               close s, start a new one   everything, the new session's id (0 if the cache has no slot)
    (s, -1)               close s, no session        everything, session id 0
    (s,  n)               continue s                 the changes since the last answer

Invariants: the expected epoch of a session rises by one with each request, from 1 after the one that made it, and
continues with 1 after 2147483647; partitions are answered in the session's order, which is that of the first answer,
and those with records in a later one move to its end, so that none starves. In every answer partitions that are not
known come last, first those whose topic id is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.hot.fetch import FetchAnswer, FetchedPartition, FetchPartition, FetchRequest
from barnabas.protocol.hot.writing import Topic
from barnabas.storage.steps import Pauses, Steps, finish

if TYPE_CHECKING:
    from barnabas.broker.runtime.clock import Clock

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
EPOCH_MAX: Final = 0x7FFF_FFFF
EVICTABLE_AFTER_MS: Final = 120_000
UNKNOWN_PARTITION: Final = (
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)
"""The error codes of a partition that does not exist for the client."""
_UNKNOWN: Final = -1

Wanted = tuple[Topic, FetchPartition]
Answers = list[tuple[Topic, list[FetchedPartition]]]


class _Cached:
    """One partition of a session: the client's request for it, and the last values sent to the client."""

    __slots__ = ("high_watermark", "log_start_offset", "wanted")

    def __init__(self, wanted: FetchPartition) -> None:
        self.wanted = wanted
        self.high_watermark = _UNKNOWN
        self.log_start_offset = _UNKNOWN

    def is_news(self, answer: FetchedPartition) -> bool:
        """Return whether an incremental answer has to contain this partition."""
        return bool(
            len(answer.records)
            or answer.high_watermark != self.high_watermark
            or answer.log_start_offset != self.log_start_offset
            or answer.error_code
            or answer.diverging_epoch is not None
            or answer.preferred_read_replica != _UNKNOWN
        )

    def must_be_answered(self, answer: FetchedPartition) -> bool:
        """Return whether an incremental answer has to contain this partition, and store what the client then knows."""
        is_news = self.is_news(answer)
        # After an error the client's high watermark counts as unknown, so that the recovery is sent.
        self.high_watermark = _UNKNOWN if answer.error_code else answer.high_watermark
        self.log_start_offset = answer.log_start_offset
        return is_news


class FetchSession:
    """The partitions that one client fetches."""

    __slots__ = ("cached", "created_ms", "epoch", "session_id", "used_ms", "uses_topic_ids")

    def __init__(self, session_id: int, uses_topic_ids: bool, now_ms: int) -> None:
        self.session_id = session_id
        self.uses_topic_ids = uses_topic_ids
        self.epoch = 1
        """The epoch that the session's next request must have."""
        self.created_ms = now_ms
        self.used_ms = now_ms
        self.cached: dict[tuple[Topic, int], _Cached] = {}

    def update(self, request: FetchRequest) -> None:
        """Apply the additions, changes and removals of the request."""
        for topic, partitions in request.topics:
            for wanted in partitions:
                cached = self.cached.get((topic, wanted.partition))
                if cached is None:
                    self.cached[topic, wanted.partition] = _Cached(wanted)
                else:
                    cached.wanted = wanted
        for topic, indexes in request.forgotten_topics:
            for index in indexes:
                self.cached.pop((topic, index), None)


class FetchContext:
    """One Fetch request, in its session or without one: the partitions it fetches, and how it is answered."""

    def __init__(self, wanted: list[Wanted], session: FetchSession | None = None, is_incremental: bool = False) -> None:
        self.wanted = wanted
        self._session = session
        self._is_incremental = is_incremental
        self._epoch = 0 if session is None else session.epoch

    def answered(self, results: Sequence[FetchedPartition], unknown_count: int = 0) -> FetchAnswer:
        """Return the answer to the client; unknown_count: how many of its partitions are not known."""
        try:
            session_id, topics = self.answer(results, unknown_last=unknown_count > 0)
        except SessionRefused as refused:
            return FetchAnswer(refused.code, refused.session_id, [])
        return FetchAnswer(0, session_id, topics)

    def answered_in_steps(self, results: Sequence[FetchedPartition], unknown_count: int) -> Steps[FetchAnswer]:
        """Do the same as `answered` in steps; refuse the request if another one uses the session between two steps."""
        try:
            session_id, topics = yield from self.answer_in_steps(results, unknown_last=unknown_count > 0)
        except SessionRefused as refused:
            return FetchAnswer(refused.code, refused.session_id, [])
        return FetchAnswer(0, session_id, topics)

    def answer(self, results: Sequence[FetchedPartition], *, unknown_last: bool) -> tuple[int, Answers]:
        """Return (session id, topics) for `results`, which are in the order of `wanted`.

        unknown_last: there are partitions that are not known, which go behind the others. Raise KafkaError
        INVALID_FETCH_SESSION_EPOCH if another request used the session meanwhile.
        """
        session = self._session
        if self._is_incremental and session is not None and not unknown_last:
            return self._answer_changes(session, results)
        return finish(self._answer_each(results, unknown_last))

    def answer_in_steps(self, results: Sequence[FetchedPartition], *, unknown_last: bool) -> Steps[tuple[int, Answers]]:
        """Do the same as `answer`, in steps."""
        return self._answer_each(results, unknown_last)

    def _answer_each(self, results: Sequence[FetchedPartition], unknown_last: bool) -> Steps[tuple[int, Answers]]:
        session, pauses = self._session, Pauses()
        pairs: Iterable[tuple[Wanted, FetchedPartition]] = zip(self.wanted, results, strict=True)
        if unknown_last:
            pairs = sorted(pairs, key=_how_unknown)
        self._check_epoch(session)
        topics: Answers = []
        to_the_end = []
        for (topic, requested), result in pairs:
            is_news = True
            if session is not None:
                key = (topic, requested.partition)
                cached = session.cached.get(key)
                is_news = cached is None or cached.must_be_answered(result) or not self._is_incremental
                if len(result.records) if self._is_incremental else unknown_last:
                    to_the_end.append(key)
            if is_news:
                _add(topics, topic, result)
            if pauses.is_due():
                yield
                self._check_epoch(session)
        if session is None:
            return NO_SESSION, topics
        for key in to_the_end:
            if key in session.cached:
                session.cached[key] = session.cached.pop(key)
            if pauses.is_due():
                yield
                self._check_epoch(session)
        return session.session_id, topics

    def preview(self, results: Sequence[FetchedPartition]) -> Answers:
        """Return the topics that `answer` would return, in any order; nothing is stored."""
        pairs: Iterable[tuple[Wanted, FetchedPartition]] = zip(self.wanted, results, strict=True)
        session = self._session
        if session is None or not self._is_incremental:
            return _grouped(pairs)
        cached = session.cached
        known = [(wanted, result, cached.get((wanted[0], wanted[1].partition))) for wanted, result in pairs]
        return _grouped(
            (wanted, result) for wanted, result, before in known if before is None or before.is_news(result)
        )

    def answer_nothing(self) -> tuple[int, Answers]:
        """Return (session id, no topics), so that the client retries. A new session is not created by this request.

        Raises KafkaError as `answer` does.
        """
        session = self._session
        if session is None or not self._is_incremental:
            return NO_SESSION, []
        self._check_epoch(session)
        return session.session_id, []

    def _answer_changes(self, session: FetchSession, results: Sequence[FetchedPartition]) -> tuple[int, Answers]:
        """Do `answer` in the common case: the session's partitions are `wanted`, as no other request used it."""
        self._check_epoch(session)
        answered: list[tuple[Wanted, FetchedPartition]] = []
        to_the_end: list[tuple[Topic, int]] = []
        for (key, cached), result in zip(session.cached.items(), results, strict=True):
            # Most of many partitions have nothing new: a call for each would be expensive.
            is_as_known = result[2] == cached.high_watermark and result[4] == cached.log_start_offset
            if is_as_known and not (result[1] or result[6] or result[7] or result[9] >= 0):
                continue
            if cached.must_be_answered(result):
                answered.append(((key[0], cached.wanted), result))
                if result[6]:
                    to_the_end.append(key)
        for key in to_the_end:
            session.cached[key] = session.cached.pop(key)
        return session.session_id, _grouped(answered)

    def _check_epoch(self, session: FetchSession | None) -> None:
        if session is not None and session.epoch != self._epoch:
            raise SessionRefused(ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.session_id)


class SessionRefused(KafkaError):
    """The whole request is refused; its client starts over with a full one."""

    def __init__(self, code: ErrorCode, session_id: int = NO_SESSION) -> None:
        super().__init__(code)
        self.session_id = session_id


class FetchSessions:
    """The sessions of one broker, at most `max.incremental.fetch.session.cache.slots` of them."""

    def __init__(self, slots: Callable[[], int], clock: Clock, random_id: Callable[[], int]) -> None:
        """Create an empty cache. random_id: returns a random integer from 1 to 2147483647."""
        self._slots = slots
        self._clock = clock
        self._random_id = random_id
        self._sessions: dict[int, FetchSession] = {}  # the least recently used first

    def __len__(self) -> int:
        return len(self._sessions)

    def partitions_of(self, session_id: int) -> list[tuple[Topic, int]]:
        """Return the partitions of a session, as its client names them; an empty list if there is no such session."""
        session = self._sessions.get(session_id)
        return [] if session is None else list(session.cached)

    def begin(self, request: FetchRequest, uses_topic_ids: bool) -> FetchContext:
        """Return the context of `request`. Raise SessionRefused when it cannot continue its session."""
        session_id, epoch = request.session_id, request.session_epoch
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._sessions.pop(session_id, None)
            wanted = [(topic, partition) for topic, partitions in request.topics for partition in partitions]
            session = None
            if epoch == INITIAL_EPOCH and wanted:
                session = self._create(request, uses_topic_ids, len(wanted))
            return FetchContext(wanted, session)
        session = self._sessions.get(session_id)
        if session is None:
            raise SessionRefused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            raise SessionRefused(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            raise SessionRefused(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.update(request)
        session.epoch = 1 if session.epoch == EPOCH_MAX else session.epoch + 1
        if not session.cached:
            del self._sessions[session_id]
            return FetchContext([])
        session.used_ms = self._clock.now_ms()
        self._sessions[session_id] = self._sessions.pop(session_id)
        wanted = [(topic, cached.wanted) for (topic, _), cached in session.cached.items()]
        return FetchContext(wanted, session, is_incremental=True)

    def _create(self, request: FetchRequest, uses_topic_ids: bool, size: int) -> FetchSession | None:
        """Return a session for a full request, or None if the cache has no slot for one of `size` partitions."""
        now_ms = self._clock.now_ms()
        if len(self._sessions) >= self._slots() and not self._evict_for(size, now_ms):
            return None
        session_id = self._random_id()
        while session_id in self._sessions:
            session_id = self._random_id()
        session = FetchSession(session_id, uses_topic_ids, now_ms)
        session.update(request)
        self._sessions[session_id] = session
        return session

    def _evict_for(self, size: int, now_ms: int) -> bool:
        """Evict a session not used recently, else the smallest old one if the new one is larger. Return success."""
        stalest = next(iter(self._sessions.values()), None)
        if stalest is None:
            return False
        if now_ms - stalest.used_ms > EVICTABLE_AFTER_MS:
            del self._sessions[stalest.session_id]
            return True
        old = [each for each in self._sessions.values() if now_ms - each.created_ms > EVICTABLE_AFTER_MS]
        smallest = min(old, key=lambda each: len(each.cached), default=None)
        if smallest is None or len(smallest.cached) >= size:
            return False
        del self._sessions[smallest.session_id]
        return True


def _how_unknown(answer: tuple[Wanted, FetchedPartition]) -> int:
    """Return 0 for a partition that is known, 1 if not even its topic id is known, 2 if it is unknown otherwise."""
    code = answer[1].error_code
    if code not in UNKNOWN_PARTITION:
        return 0
    return 1 if code == ErrorCode.UNKNOWN_TOPIC_ID else 2


def _grouped(answers: Iterable[tuple[Wanted, FetchedPartition]]) -> Answers:
    """Group answers by topic, in order: neighbours of the same topic share an entry."""
    topics: Answers = []
    for (topic, _), answer in answers:
        _add(topics, topic, answer)
    return topics


def _add(topics: Answers, topic: Topic, answer: FetchedPartition) -> None:
    if topics and topics[-1][0] == topic:
        topics[-1][1].append(answer)
    else:
        topics.append((topic, [answer]))
