# compiled: mypyc
"""Share sessions (KIP-932): the partitions that a member of a share group fetches, bound to the connection that began.

Knows sessions and their epochs; knows no share partition. `when_ended` is called for each session that ends, by its
member or with its connection: then what the member holds is released. A session that its member begins anew releases
nothing. `when_left` is called when a connection closes, for each of its groups without a session: then the group's
share partitions are loaded again at their next fetch, as in Apache Kafka, since an operator may have reset their
offsets.

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


class _OfConnection:
    """The sessions of one connection, until it closes."""

    __slots__ = ("keys", "last_group_id")

    def __init__(self) -> None:
        self.keys: set[ShareSessionKey] = set()
        """The members whose sessions it has."""
        self.last_group_id = ""
        """The group of its newest session, which may have ended."""


class ShareSessions:
    """The share sessions of one node."""

    def __init__(
        self,
        sessions_max: Callable[[], int],
        when_ended: Callable[[ShareSession], object],
        when_left: Callable[[str], object],
    ) -> None:
        self._sessions: dict[ShareSessionKey, ShareSession] = {}
        self._of_connection: dict[Session, _OfConnection] = {}
        self._sessions_max = sessions_max
        self._when_ended = when_ended
        self._when_left = when_left

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
            of_connection = self._of_connection.get(connection)
            if of_connection is None:
                of_connection = self._of_connection[connection] = _OfConnection()
                connection.when_closed = lambda: self._connection_closed(connection)
            of_connection.keys.add(key)
            of_connection.last_group_id = key.group_id
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
            self._of_connection[session.connection].keys.discard(key)

    def _connection_closed(self, connection: Session) -> None:
        of_connection = self._of_connection.pop(connection)
        for key in of_connection.keys:
            self._when_ended(self._sessions.pop(key))
        left = {key.group_id for key in of_connection.keys} | {of_connection.last_group_id}
        for group_id in left.difference(key.group_id for key in self._sessions):
            self._when_left(group_id)
