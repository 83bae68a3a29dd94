"""A consumer in a classic group: it is assigned what to read, keeps alive, commits, leaves.

Theory of operation: `poll` is called often by one thread. It joins when it must, sends a heartbeat when one is due and
fetches in between; waiting never lasts longer than to the next heartbeat. Before each heartbeat, and so before joining
again, what was handed out is committed, if that is wanted.

Invariants: offsets are committed only for records that earlier polls handed out, in the generation they were read in;
after UNKNOWN_MEMBER_ID or ILLEGAL_GENERATION nothing of the old membership is used again. A member whose committed
offsets could not be had reads nothing, is at no end and asks for them again.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from barnabas.client.client import Client
from barnabas.client.consume.consumer import FETCH_WAIT_MS, ConsumedRecord, Consumer
from barnabas.client.consume.membership import Membership
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import READ_UNCOMMITTED, committed_offsets
from barnabas.client.transaction_requests import GroupMember
from barnabas.protocol.errors import ErrorCode, KafkaError

SESSION_TIMEOUT_MS = 45_000
HEARTBEAT_MS = 3_000

_FORGOTTEN = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
_JOIN_AGAIN = _FORGOTTEN | {ErrorCode.REBALANCE_IN_PROGRESS}


class GroupConsumer:
    """One member of a group. Its records come from the Consumer it assigns partitions to."""

    def __init__(
        self,
        client: Client,
        group_id: str,
        topics: Iterable[str],
        *,
        isolation: int = READ_UNCOMMITTED,
        auto_offset_reset: str = "latest",
        auto_commit: bool = True,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
        heartbeat_ms: int = HEARTBEAT_MS,
    ) -> None:
        self._client = client
        self._group_id = group_id
        self._auto_commit = auto_commit
        self._heartbeat_ms = heartbeat_ms
        self._consumer = Consumer(client, isolation=isolation, auto_offset_reset=auto_offset_reset)
        self._membership = Membership(client, group_id, sorted(set(topics)), session_timeout_ms)
        self._is_member = False
        self._to_begin: list[TopicPartition] | None = None  # assigned, but from where to read is not known yet
        self._committed: dict[TopicPartition, int] = {}
        self._next_heartbeat = client.deadline(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(commit=kind is None)

    @property
    def assignment(self) -> list[TopicPartition]:
        """What this member reads at the moment."""
        return sorted(self._consumer.positions)

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """The offset to be read next in each partition of the assignment, where it is known."""
        return {where: position for where, position in self._consumer.positions.items() if position is not None}

    @property
    def member(self) -> GroupMember:
        """Who this member is at the moment: what a transactional producer commits offsets for."""
        return GroupMember(self._group_id, self._membership.generation_id, self._membership.member_id)

    def poll(self, timeout_ms: int = FETCH_WAIT_MS, max_records: int | None = None) -> list[ConsumedRecord]:
        """As Consumer.poll; joins the group and keeps this member alive on the way."""
        patience = self._client.deadline(timeout_ms)
        while True:
            self._stay_a_member()
            wait_ms = min(FETCH_WAIT_MS, patience.left_ms, self._next_heartbeat.left_ms)
            records = self._consumer.poll(wait_ms, max_records)
            if records or patience.is_over:
                return records

    def is_at_end(self) -> bool:
        """Whether everything assigned was read up to where it ended when it was last fetched."""
        return self._is_member and self._to_begin is None and self._consumer.is_at_end()

    def commit(self) -> None:
        """Commit the positions of what was handed out so far. KafkaError if the group has moved on."""
        moved = {
            where: position
            for where, position in self._consumer.positions.items()
            if position is not None and position != self._committed.get(where)
        }
        if moved:
            self._membership.commit(moved)
            self._committed.update(moved)

    def close(self, *, commit: bool = True) -> None:
        """Commit (if that is automatic) and leave the group."""
        if not self._is_member:
            return
        if commit and self._auto_commit:
            self._commit_if_possible()
        if self._membership.member_id:
            self._membership.leave()
        self._is_member = False
        self._consumer.assign({})

    def _stay_a_member(self) -> None:
        if self._is_member and self._next_heartbeat.is_over:
            if self._auto_commit:
                self._commit_if_possible()
            self._heartbeat()
        while not self._is_member:
            self._join()
        if self._to_begin is not None:
            self._begin(self._to_begin)

    def _heartbeat(self) -> None:
        if not self._is_member:
            return
        try:
            self._membership.heartbeat()
        except KafkaError as error:
            self._lose_membership(error)
        self._next_heartbeat = self._client.deadline(self._heartbeat_ms)

    def _join(self) -> None:
        try:
            partitions = self._membership.join()
        except KafkaError as error:
            self._lose_membership(error)
            return
        self._is_member = True
        self._next_heartbeat = self._client.deadline(self._heartbeat_ms)
        self._consumer.assign({})  # what the generation before read is for this one neither to read nor to commit
        self._to_begin = partitions

    def _begin(self, partitions: list[TopicPartition]) -> None:
        """Read from what the group committed. Where that cannot be had, the next poll asks again."""
        self._committed = committed_offsets(self._client, self._group_id, partitions)
        self._consumer.assign({where: self._committed.get(where) for where in partitions})
        self._to_begin = None

    def _commit_if_possible(self) -> None:
        try:
            self.commit()
        except KafkaError as error:
            self._lose_membership(error)

    def _lose_membership(self, error: KafkaError) -> None:
        """Be no member any more, for a reason that joining again cures; any other is raised."""
        if error.code not in _JOIN_AGAIN:
            raise error
        self._is_member = False
        if error.code in _FORGOTTEN:
            self._membership.forget()
            self._consumer.assign({})
