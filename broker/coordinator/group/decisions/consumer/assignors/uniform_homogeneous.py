# compiled: mypyc
"""`uniform` if all members subscribe to the same topics: equal shares, and members keep partitions up to their share.

Each member may have the same number of partitions, some of them one more. First all keep their partitions, up to that
number; then the remaining partitions go to the members with room, in order. No two members differ by more than one
partition.

Three orders decide the result, and all are those of Java's tables: of members, in which they may have one more and get
the remaining partitions; of topics, in which unassigned partitions are assigned; and of topics and partitions within a
member's assignment, if it has more than its share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator

from barnabas.broker.coordinator.group.decisions.consumer.assignors.drafts import AssignmentDraft
from barnabas.broker.coordinator.group.decisions.consumer.assignors.hash_order import (
    TOPIC_ID,
    HashOrder,
    copied_table_size,
)
from barnabas.broker.coordinator.group.decisions.consumer.assignors.input_order import member_order
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import (
    MEMBERS_AT_ONCE,
    AssignorError,
    GroupSpec,
    Steps,
    Targets,
    partitions_of,
    work_of,
)
from barnabas.storage.steps import Pauses


def assign_homogeneous(spec: GroupSpec) -> Steps:
    """Return the new targets of the members, at least one. The first member's subscription counts for all.

    Raises AssignorError.
    """
    member_ids = yield from member_order(spec.members)
    topic_ids, names = spec.members[member_ids[0]].subscription
    if not topic_ids:
        return {member_id: {} for member_id in member_ids}
    work = _Work(spec, member_ids, HashOrder(TOPIC_ID, copied_table_size(names), topic_ids))
    yield from work.find_unassigned()
    yield from work.keep()
    yield from work.hand_out()
    targets: Targets = {}
    for member_id, draft in work.drafts.items():
        targets[member_id] = target = draft.result()
        if work.pauses.is_due(work_of(target)):
            yield
    return targets


class _Work:
    """An assignment in progress."""

    def __init__(self, spec: GroupSpec, member_ids: list[str], topics: HashOrder[bytes]) -> None:
        self._spec = spec
        self._member_ids = member_ids
        self._topics = topics
        self.drafts: dict[str, AssignmentDraft] = {}
        self.pauses = Pauses(MEMBERS_AT_ONCE)
        self._rooms: dict[str, int] = {}
        """For how many more partitions a member has room, by member id; members without room are absent."""
        self._left_over: list[tuple[bytes, int]] = []
        """Topic ids and partitions without an owner, in the order in which they are assigned."""

    def find_unassigned(self) -> Generator[None, None, None]:
        """Find partitions without an owner; they are assigned before those that members have to release."""
        assigned: defaultdict[bytes, set[int]] = defaultdict(set)
        for member in self._spec.members.values():
            for topic_id, partitions in member.assignment.items():
                assigned[topic_id].update(partitions)
            if self.pauses.is_due(work_of(member.assignment)):
                yield
        for topic_id in self._topics.in_order():
            missing = sorted(set(range(partitions_of(self._spec, topic_id))) - assigned[topic_id])
            self._left_over += [(topic_id, partition) for partition in missing]
            yield

    def keep(self) -> Generator[None, None, None]:
        """Keep the partitions of all members up to their shares.

        If the partitions cannot be divided evenly, the first members have the larger shares. One of them that has room
        leaves its larger share to a later member, as long as there are enough of these.
        """
        total = sum(partitions_of(self._spec, topic_id) for topic_id in self._topics.in_order())
        share, larger_shares = divmod(total, len(self._member_ids))
        for index, member_id in enumerate(self._member_ids):
            is_larger = larger_shares > 0
            room = yield from self._keep_up_to(share + is_larger, member_id)
            if room and is_larger and len(self._member_ids) - index > larger_shares:
                room -= 1
                is_larger = False
            if room:
                self._rooms[member_id] = room
            larger_shares -= is_larger
            if self.pauses.is_due(work_of(self._spec.members[member_id].assignment)):
                yield

    def _keep_up_to(self, share: int, member_id: str) -> Generator[None, None, int]:
        """Keep the member's partitions up to the share; return how many more it has room for."""
        given = self._spec.members[member_id].assignment
        self.drafts[member_id] = draft = AssignmentDraft(given)
        held = sum(map(len, given.values()))
        if held <= share and all(topic_id in self._topics for topic_id in given):
            return share - held  # it keeps everything, so the order of iteration does not matter
        in_order = yield from draft.given()
        yield from draft.copy()
        for topic_id, partitions in in_order:
            if topic_id not in self._topics:
                draft.drop(topic_id)
                continue
            for partition in partitions[share:]:
                draft.remove(topic_id, partition)
                self._left_over.append((topic_id, partition))
                yield
            share = max(share - len(partitions), 0)
        return share

    def hand_out(self) -> Generator[None, None, None]:
        """Fill the rooms with the remaining partitions: the numbers are equal."""
        begin = 0
        for member_id, room in self._rooms.items():
            draft = self.drafts[member_id]
            yield from draft.copy()
            for topic_id, partition in self._left_over[begin : begin + room]:
                draft.add(topic_id, partition)
                yield
            begin += room
        if begin < len(self._left_over):
            raise AssignorError("some partitions fit no member: an assignment had partitions that do not exist")
