"""Share sessions (KIP-932): the partitions that a member of a share group fetches, bound to the connection that began.

Knows sessions and their epochs; knows no share partition. `when_ended` is called for each session that ends, by its
member or with its connection: then what the member holds is released. A session that its member begins anew releases
nothing.

    epoch 0             begin a session, or begin it anew
    epoch n             continue it; the expected epoch rises by one with each request, and 1 follows 2147483647
    epoch -1            end it

Invariants: a session has one connection, and ends with it; at most `group.share.max.share.sessions` are open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from barnabas.broker.security.session.session import Session
from barnabas.protocol.errors import ErrorCode, KafkaError

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_EPOCH_MAX = 0x7FFF_FFFF


class SessionPartition(NamedTuple):
    """A partition as share sessions name it."""

    topic_id: bytes
    partition: int


class ShareSessionKey(NamedTuple):
    """The member that a session belongs to."""

    group_id: str
    member_id: str


class ShareSession:
    """The session of one member."""

    __slots__ = ("connection", "epoch", "key", "partitions")

    def __init__(
        self, key: ShareSessionKey, partitions: Iterable[SessionPartition], connection: Session | None
    ) -> None:
        self.key = key
        self.partitions = dict.fromkeys(partitions)
        """The fetched partitions, in the order in which they came."""
        self.connection = connection
        self.epoch = 1
        """The epoch that the next request must have."""


class ShareSessions:
    """The share sessions of one node."""

    def __init__(self, sessions_max: Callable[[], int], when_ended: Callable[[ShareSession], object]) -> None:
        self._sessions: dict[ShareSessionKey, ShareSession] = {}
        self._of_connection: dict[Session, set[ShareSessionKey]] = {}
        self._sessions_max = sessions_max
        self._when_ended = when_ended

    def __len__(self) -> int:
        return len(self._sessions)

    def every(self) -> list[ShareSession]:
        """Return the open sessions, for readers."""
        return list(self._sessions.values())

    def begin(
        self, key: ShareSessionKey, partitions: Iterable[SessionPartition], connection: Session | None
    ) -> ShareSession:
        """Begin a session. Raises KafkaError SHARE_SESSION_LIMIT_REACHED."""
        self._forget(key)
        if len(self._sessions) >= self._sessions_max():
            raise KafkaError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        session = self._sessions[key] = ShareSession(key, partitions, connection)
        if connection is not None:
            known = self._of_connection.setdefault(connection, set())
            if not known:
                connection.when_closed = lambda: self._connection_closed(connection)
            known.add(key)
        return session

    def resume(self, key: ShareSessionKey, epoch: int) -> ShareSession:
        """Return the session for a request with this epoch, which may be the final one. Raises KafkaError."""
        session = self._sessions.get(key)
        if session is None:
            raise KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        if epoch == FINAL_EPOCH:
            return session
        if epoch != session.epoch:
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
        return session

    def end(self, session: ShareSession) -> None:
        """End a session at its member's request."""
        if self._sessions.get(session.key) is session:
            self._forget(session.key)
            self._when_ended(session)

    def _forget(self, key: ShareSessionKey) -> None:
        session = self._sessions.pop(key, None)
        if session is not None and session.connection is not None:
            keys = self._of_connection.get(session.connection, set())
            keys.discard(key)
            if not keys:
                self._of_connection.pop(session.connection, None)
                session.connection.when_closed = None

    def _connection_closed(self, connection: Session) -> None:
        for key in self._of_connection.pop(connection, ()):
            session = self._sessions.pop(key)
            self._when_ended(session)
