"""A consumer in a group: it reads its assigned partitions, sends heartbeats, commits, leaves.

Theory of operation: `poll` is called often by one thread. It joins when needed, sends a heartbeat when one is due and
fetches in between; waiting never lasts longer than to the next heartbeat. Before each heartbeat, and before partitions
are revoked, the positions of returned records are committed, if auto_commit is on. A Membership handles the assignment
in the group.

Invariants: offsets are committed only for records that earlier polls returned, in the membership they were read in; no
state of a lost membership is used again. A partition is not read before its committed offset is known. While an open
transaction commits for it (UNSTABLE_OFFSET_COMMIT), the member requests it again, and is not at the end; the other
partitions are read, and the group is notified that the partition is this member's, as by Kafka's consumer.
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
from barnabas.client.transaction_requests import ConsumerGroupMetadata
from barnabas.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from typing import Self


class GroupConsumer:
    """One member of a group. Its records come from the Consumer to which it assigns partitions."""

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
        self._unstable: set[TopicPartition] = set()  # not read until the transactions that commit for them have ended
        self._next_question = client.deadline(0)  # when to request their offsets again
        self._pauses_ms = backoffs_ms()
        self._failing: Deadline | None = None  # the deadline while there are only failures

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(commit=kind is None)

    @property
    def assignment(self) -> list[TopicPartition]:
        """The partitions that this member reads at the moment."""
        return sorted(self._consumer.positions)

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """The next offset of each assigned partition, if it is known."""
        return {where: position for where, position in self._consumer.positions.items() if position is not None}

    @property
    def member(self) -> ConsumerGroupMetadata:
        """The current identity of this member, for which a transactional producer commits offsets."""
        return self._membership.member

    def poll(self, timeout_ms: int = FETCH_WAIT_MS, max_records: int | None = None) -> list[ConsumedRecord]:
        """Return records as Consumer.poll; joins the group and sends heartbeats in between."""
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
        """Return whether every assigned partition was read up to its last known end, and no more will be assigned.

        More may be assigned while the group rebalances. KafkaError if the coordinator does not return its state.
        """
        return not self._unstable and self._consumer.is_at_end() and self._membership.is_settled()

    def commit(self) -> None:
        """Commit the positions after the returned records. KafkaError if the group has a newer generation."""
        moved = {
            where: position for where, position in self.positions.items() if position != self._committed.get(where)
        }
        if moved:
            self._membership.commit(moved)
            self._committed.update(moved)

    def close(self, *, commit: bool = True) -> None:
        """Commit (if auto_commit is on) and leave the group."""
        if commit:
            self._commit_if_possible()
        self._membership.leave()
        self._read_only({})

    def _fetch(self, wait_ms: int, max_records: int | None) -> list[ConsumedRecord]:
        """Poll between two heartbeats: the next may revoke a failing partition, for example of a deleted topic.

        A retriable error is raised only after it has lasted for the client's timeout.
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
        """Join or send a heartbeat; if that ends the membership, drop its state."""
        try:
            self._membership.stay()
        finally:
            self._let_go_if_lost()

    def _reconcile(self, assignment: Assignment) -> bool:
        """Read the assigned partitions and acknowledge; return whether that was possible. Else the next poll does."""
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
        """Start reading these, each when its committed offset is stable; return whether this is still a member."""
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
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:  # it was deleted: no member continues there
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
