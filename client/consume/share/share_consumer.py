"""A member of a share group (KIP-932): it acquires records, and acknowledges each of them.

Theory of operation: one thread calls `poll`. It joins, sends a heartbeat when one is due, sends the acknowledgements
since the last call, and then fetches from one leader after another. Acknowledgements go before the fetch, so that a
released record comes again with it.

implicit (the default): the next `poll` or `commit` accepts the records of the last one. `close` does not: what it
finds is released, as in Kafka's client. explicit: the program acknowledges every record before the next `poll`. A
record that is acknowledged with RENEW stays with the program, which acknowledges it again later; its lock is renewed
by the next `poll` or `commit`.

An acknowledgement may be refused, mostly because the lock of its record is over. It is no error of the call: `commit`
returns the refusals, those of polls since then included. Such records are delivered again.

There is no thread for heartbeats, as in barnabas.client.consume.membership. Invariants: a record is returned once per
delivery; a record of a lost session that was not returned yet is dropped.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.retries import BACKOFF_MS
from barnabas.client.consume.consumer import FETCH_WAIT_MS
from barnabas.client.consume.share.held_records import AcquiredRecord, HeldRecords
from barnabas.client.consume.share.leader_session import Failures, LeaderSession
from barnabas.client.consume.share.share_membership import ShareMembership
from barnabas.client.consume.share.share_requests import ShareMember
from barnabas.client.errors import worst
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.acknowledge_type import AcknowledgeType
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.primitives import uuid_text

if TYPE_CHECKING:
    from typing import Self


class _Ready(NamedTuple):
    """A record that was not returned yet."""

    session: LeaderSession
    held: HeldRecords
    record: AcquiredRecord


class ShareConsumer:
    """One member of a share group. Where the group begins is a setting of the group: share.auto.offset.reset."""

    def __init__(
        self,
        client: Client,
        group_id: str,
        topics: Iterable[str],
        *,
        explicit: bool = False,
        member_id: str | None = None,
    ) -> None:
        self._client = client
        self._explicit = explicit
        self._member = ShareMember(group_id, member_id or uuid_text(os.urandom(16)))
        self._membership = ShareMembership(client, self._member, topics)
        self._sessions: dict[int, LeaderSession] = {}
        self._lost: list[LeaderSession] = []  # with returned records whose acknowledgements will be refused
        self._ready: deque[_Ready] = deque()  # not returned yet
        self._refused: Failures = {}
        self._failing: Deadline | None = None  # the deadline while there are only failures
        self._failure: KafkaError | None = None  # for the next poll to raise
        self._polls = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def member_id(self) -> str:
        """The id of this member."""
        return self._member.member_id

    @property
    def assignment(self) -> list[TopicPartition]:
        """The partitions that this member reads at the moment."""
        return sorted(self._membership.assignment)

    @property
    def lock_timeout_ms(self) -> int | None:
        """How long a record is this member's; None before the first records."""
        return max((each.lock_timeout_ms or 0 for each in self._sessions.values()), default=0) or None

    def poll(self, timeout_ms: int = FETCH_WAIT_MS, max_records: int | None = None) -> list[AcquiredRecord]:
        """Return records as soon as there are any, or none after `timeout_ms`. Raises lasting errors.

        max_records: acquire and return no more; without it whole batches are acquired. RuntimeError if explicit, and
        a record has no acknowledgement.
        """
        self._finish_returned()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        patience = self._client.deadline(timeout_ms)
        while True:
            if self._membership.next_heartbeat.is_over:
                self._membership.stay()
            self._send()
            if not self._ready:
                self._fill(min(FETCH_WAIT_MS, patience.left_ms, self._membership.next_heartbeat.left_ms), max_records)
            if self._ready or patience.is_over:
                return self._hand_out(max_records)

    def acknowledge(self, record: AcquiredRecord, kind: AcknowledgeType = AcknowledgeType.ACCEPT) -> None:
        """Decide about a returned record; sent by the next `poll`, `commit` or `close`. RuntimeError if not possible.

        Not possible: without `explicit`, or for a record that is not held, or is acknowledged already.
        """
        if not self._explicit:
            raise RuntimeError("without explicit=True the next poll accepts all records")
        if not any(each.acknowledge(record, kind) for each in (*self._sessions.values(), *self._lost)):
            raise RuntimeError(
                f"{record.topic}-{record.partition}, offset {record.record.offset}: not held, or acknowledged already"
            )

    def commit(self) -> Failures:
        """Send the acknowledgements; return the partitions for which some were refused since the last `commit`."""
        if not self._explicit:
            self._accept_returned()
        self._send()
        refused, self._refused = self._refused, {}
        return refused

    def close(self) -> Failures:
        """Send the acknowledgements, release all other records and leave the group. Returns what `commit` returns."""
        self._send(ends=True)
        for session in self._sessions.values():
            session.close()
        self._sessions, self._lost = {}, []
        self._ready.clear()
        self._membership.leave()
        refused, self._refused = self._refused, {}
        return refused

    # --- helpers ---

    def _finish_returned(self) -> None:
        if not self._explicit:
            self._accept_returned()
        elif any(each.is_open for each in (*self._sessions.values(), *self._lost)):
            raise RuntimeError("all records must be acknowledged before the next poll")

    def _accept_returned(self) -> None:
        for session in (*self._sessions.values(), *self._lost):
            session.accept_returned()

    def _send(self, *, ends: bool = False) -> None:
        deadline = self._client.deadline()
        for session in (*self._lost, *self._sessions.values()):
            self._refused.update(session.commit(deadline, ends=ends))
        self._set_lost_aside()

    def _set_lost_aside(self) -> None:
        """Give up the sessions that are over, and drop what was acquired in them and not returned."""
        over = [node_id for node_id, session in self._sessions.items() if session.is_over]
        self._lost += [self._sessions.pop(node_id) for node_id in over]
        if over:
            self._ready = deque(each for each in self._ready if not each.session.is_over)
        for session in self._lost:
            session.drop_waiting()
        self._lost = [session for session in self._lost if not session.is_empty]

    def _fill(self, wait_ms: int, max_records: int | None) -> None:
        """Fetch once. A retriable error is raised only after it has lasted for the client's timeout."""
        try:
            self._fetch(wait_ms, max_records)
        except KafkaError as error:
            self._failing = self._failing or self._client.deadline()
            if not error.code.retriable or self._failing.is_over:
                self._failing = None
                raise
            self._client.clock.sleep(BACKOFF_MS / 1000)
        else:
            self._failing = None

    def _fetch(self, wait_ms: int, max_records: int | None) -> None:
        """Run one round over the leaders, each time beginning with another; raise a failure if there are no records."""
        assignment = self._membership.assignment
        if not assignment:
            self._client.clock.sleep((wait_ms + 1) / 1000)  # the milliseconds left are rounded down
            return
        deadline = self._client.deadline()
        by_node, failures = self._client.leaders(assignment, deadline)
        self._polls += 1
        for leader, places in _rotated(list(by_node.items()), self._polls):
            left = None if max_records is None else max_records - len(self._ready)
            if left is not None and left <= 0:
                break
            try:
                session = self._session(leader, deadline)
                wait = 0 if self._ready else wait_ms // len(by_node)
                came = session.fetch({where: assignment[where] for where in places}, wait, left, deadline)
            except KafkaError as error:
                failures.update(dict.fromkeys(places, error))
            else:
                self._ready.extend(_Ready(session, *each) for each in came.records)
                failures.update(came.failures)
        self._set_lost_aside()
        self._take_failures(failures)

    def _take_failures(self, failures: Failures) -> None:
        """Raise a failure if there are no records; else keep a final one for the next poll."""
        self._client.forget({topic for (topic, _), error in failures.items() if error.code.retriable})
        if not failures:
            return
        failure = worst(failures.values())
        if not self._ready:
            raise failure
        if not failure.code.retriable:
            self._failure = failure

    def _session(self, leader: int, deadline: Deadline) -> LeaderSession:
        found = self._sessions.get(leader)
        if found is None:
            found = self._sessions[leader] = LeaderSession(self._client, leader, self._member, deadline)
        return found

    def _hand_out(self, max_records: int | None) -> list[AcquiredRecord]:
        count = len(self._ready) if max_records is None else min(max_records, len(self._ready))
        records = []
        for _ in range(count):
            _, held, record = self._ready.popleft()
            held.returned(record.record.offset)
            records.append(record)
        return records


def _rotated(leaders: list[tuple[int, list[TopicPartition]]], turn: int) -> list[tuple[int, list[TopicPartition]]]:
    begin = turn % len(leaders) if leaders else 0
    return [*leaders[begin:], *leaders[:begin]]
