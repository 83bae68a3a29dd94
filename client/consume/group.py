"""A consumer in a group: it reads what it is assigned, keeps alive, commits, leaves.

Theory of operation: `poll` is called often by one thread. It joins when it must, sends a heartbeat when one is due and
fetches in between; waiting never lasts longer than to the next heartbeat. Before each heartbeat, and before partitions
are given up, what was handed out is committed, if that is wanted. How the group agrees on who reads what is a
Membership's affair.

Invariants: offsets are committed only for records that earlier polls handed out, in the membership they were read in;
of a membership that was lost nothing is used again. A partition is not read before its committed offset is known.
While an open transaction commits for it (UNSTABLE_OFFSET_COMMIT), the member asks again, and is at no end; the other
partitions are read, and the group is told that the partition is this member's, as by Kafka's consumer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from barnabas.client.client import Client
from barnabas.client.clock import Deadline
from barnabas.client.connections.retries import BACKOFF_MS, backoffs_ms
from barnabas.client.consume.classic_membership import ClassicProtocol
from barnabas.client.consume.consumer import FETCH_WAIT_MS, ConsumedRecord, Consumer
from barnabas.client.consume.membership import Assignment, GroupProtocol
from barnabas.client.metadata import TopicPartition
from barnabas.client.offsets import READ_UNCOMMITTED
from barnabas.client.transaction_requests import GroupMember
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from typing import Self


class GroupConsumer:
    """One member of a group. Its records come from the Consumer it assigns partitions to."""

    def __init__(
        self,
        client: Client,
        group_id: str,
        topics: Iterable[str],
        *,
        protocol: GroupProtocol | None = None,
        isolation: int = READ_UNCOMMITTED,
        auto_offset_reset: str = "latest",
        auto_commit: bool = True,
    ) -> None:
        self._client = client
        self._auto_commit = auto_commit
        self._consumer = Consumer(client, isolation=isolation, auto_offset_reset=auto_offset_reset)
        self._membership = (protocol or ClassicProtocol()).membership(client, group_id, topics)
        self._committed: dict[TopicPartition, int] = {}
        self._unstable: set[TopicPartition] = set()  # to be read once the transactions that commit for them have ended
        self._next_question = client.deadline(0)  # when to ask for their offsets again
        self._pauses_ms = backoffs_ms()
        self._failing: Deadline | None = None  # until when nothing but failures may come

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
        return self._membership.member

    def poll(self, timeout_ms: int = FETCH_WAIT_MS, max_records: int | None = None) -> list[ConsumedRecord]:
        """As Consumer.poll; joins the group and keeps this member alive on the way."""
        patience = self._client.deadline(timeout_ms)
        while True:
            self._stay_a_member()
            if self._unstable and self._next_question.is_over:
                self._begin(self._unstable)
            records: list[ConsumedRecord] = []
            if self._membership.is_member:
                records = self._fetch(min(FETCH_WAIT_MS, patience.left_ms), max_records)
            if records or patience.is_over:
                return records

    def is_at_end(self) -> bool:
        """Whether everything assigned was read up to where it ended when it was last fetched, and no more is to come.

        More is to come while the group rebalances. KafkaError if the coordinator does not tell whether it does.
        """
        return not self._unstable and self._consumer.is_at_end() and self._membership.is_settled()

    def commit(self) -> None:
        """Commit the positions of what was handed out so far. KafkaError if the group has moved on."""
        moved = {
            where: position for where, position in self.positions.items() if position != self._committed.get(where)
        }
        if moved:
            self._membership.commit(moved)
            self._committed.update(moved)

    def close(self, *, commit: bool = True) -> None:
        """Commit (if that is automatic) and leave the group."""
        if commit:
            self._commit_if_possible()
        self._membership.leave()
        self._read_only({})

    def _fetch(self, wait_ms: int, max_records: int | None) -> list[ConsumedRecord]:
        """As Consumer.poll, between two heartbeats: the next may take away what fails, for example a deleted topic.

        What may pass is raised only when it stands since the client's timeout.
        """
        left_ms = self._membership.next_heartbeat.left_ms
        if self._unstable:
            wait_ms = min(wait_ms, self._next_question.left_ms + 1)
        try:
            records = self._consumer.poll(min(wait_ms, left_ms), max_records, retry_ms=left_ms)
        except KafkaError as error:
            self._failing = self._failing or self._client.deadline()
            if not error.code.retriable or self._failing.is_over:
                self._failing = None
                raise
            self._client.clock.sleep(BACKOFF_MS / 1000)
            return []
        self._failing = None
        return records

    def _stay_a_member(self) -> None:
        if self._membership.is_member and self._membership.next_heartbeat.is_over:
            self._commit_if_possible()
            self._step()
        if not self._membership.is_member:
            self._step()
        while (assignment := self._membership.to_reconcile) is not None:
            if not self._reconcile(assignment):
                return

    def _step(self) -> None:
        """Join or send a heartbeat; where that ends the membership, nothing of it is kept."""
        try:
            self._membership.stay()
        finally:
            self._let_go_if_lost()

    def _reconcile(self, assignment: Assignment) -> bool:
        """Read what is assigned, and say so: whether that was possible. If not, the next poll goes on with it."""
        if self._consumer.positions.keys() - assignment.kept:
            self._commit_if_possible()
        if not self._membership.is_member:
            return False
        kept = {where: at for where, at in self._consumer.positions.items() if where in assignment.kept}
        self._read_only(kept)
        self._pauses_ms = backoffs_ms()
        if not self._begin(assignment.partitions - kept.keys()):
            return False
        try:
            self._membership.acknowledge()
        finally:
            self._let_go_if_lost()
        return True

    def _begin(self, added: Collection[TopicPartition]) -> bool:
        """Read these, too, each as soon as its committed offset is stable: whether this is still a member then."""
        try:
            committed = self._membership.committed(sorted(added)) if added else {}
        except KafkaError as error:
            self._membership.lose(error)
            self._let_go_if_lost()
            return False
        self._unstable = set(added) - committed.keys()
        self._next_question = self._client.deadline(next(self._pauses_ms))
        self._committed.update({where: at for where, at in committed.items() if at is not None})
        if committed:
            self._consumer.assign(self._consumer.positions | committed)
        return True

    def _commit_if_possible(self) -> None:
        if not self._auto_commit or not self._membership.is_member:
            return
        try:
            self.commit()
        except KafkaError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:  # it was deleted: nobody reads on there
                self._membership.lose(error)
                self._let_go_if_lost()

    def _let_go_if_lost(self) -> None:
        if not self._membership.is_member:
            self._read_only({})

    def _read_only(self, kept: dict[TopicPartition, int | None]) -> None:
        self._unstable = set()
        if kept.keys() != self._consumer.positions.keys():
            self._consumer.assign(kept)
        self._committed = {where: at for where, at in self._committed.items() if where in kept}
