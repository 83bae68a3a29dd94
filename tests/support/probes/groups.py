"""Groups as strangers see them: unknown members, bad time limits, offsets that nobody committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol.schema import Request
from tests.support.probes.wire import Target, comparable, frame

TOPICS: dict[str, dict[str, str]] = {"g": {}}
# Version 0, the topic "g", no user data. Kafka reads it, and never answers a JoinGroup with one that it cannot read.
_SUBSCRIPTION = bytes.fromhex("0000 00000001 0001 67 ffffffff")
Probe = Callable[[Target], Any]


def join(
    group: str,
    member: str = "",
    *,
    session_ms: int = 10000,
    kind: str = "consumer",
    protocols: tuple[str, ...] = ("range",),
    **fields: Any,
) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=1000,
        member_id=member,
        protocol_type=kind,
        protocols=[JoinGroupRequestProtocol(name=name, metadata=_SUBSCRIPTION) for name in protocols],
        **fields,
    )


def commit(
    group: str,
    *rows: tuple[str, int, int],
    generation: int = -1,
    member: str = "",
    target: Target | None = None,
    metadata: str | None = "note",
) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                topic_id=target.topic_ids.get(topic, b"an unknown id !!") if target else bytes(16),
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index, committed_offset=offset, committed_metadata=metadata
                    )
                ],
            )
            for topic, index, offset in rows
        ],
    )


def fetched(group: str, topics: list[tuple[str, list[int]]] | None) -> OffsetFetchRequest:
    """In the form of versions 0 to 7."""
    named = None
    if topics is not None:
        named = [OffsetFetchRequestTopic(name=name, partition_indexes=indexes) for name, indexes in topics]
    return OffsetFetchRequest(group_id=group, topics=named)


def fetched_groups(
    target: Target, *groups: tuple[str, list[tuple[str, list[int]]] | None], epoch: int = -1
) -> OffsetFetchRequest:
    """In the form of versions from 8 on."""
    return OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id=group,
                member_epoch=epoch,
                topics=None
                if topics is None
                else [
                    OffsetFetchRequestTopics(
                        name=name,
                        topic_id=target.topic_ids.get(name, b"an unknown id !!"),
                        partition_indexes=indexes,
                    )
                    for name, indexes in topics
                ],
            )
            for group, topics in groups
        ]
    )


def _asked(request: Request, version: int | None = None) -> Probe:
    return lambda target: target.ask(request, version)


def _sync(group: str, generation: int, member: str, **fields: Any) -> SyncGroupRequest:
    named = {"protocol_type": "consumer", "protocol_name": "range", "assignments": [], **fields}
    return SyncGroupRequest(group_id=group, generation_id=generation, member_id=member, **named)


def _beat(group: str, generation: int, member: str) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group, generation_id=generation, member_id=member)


def _leave(group: str, *members: str) -> LeaveGroupRequest:
    return LeaveGroupRequest(group_id=group, members=[MemberIdentity(member_id=member) for member in members])


def _a_member_and_its_mistakes(target: Target) -> Any:
    """One member of a group, up to Stable, and what it and others then do wrong."""
    group = "life"
    with target.connect() as wire:
        wire.send(frame(join(group)))
        required = wire.answer_to(join(group))
        me = required.member_id
        seen = [comparable(required)]

        def ask(request: Request, version: int | None = None) -> Any:
            outcome = wire.ask(request, version)
            seen.append(outcome)
            return outcome

        ask(join(group, me))
        ask(_beat(group, 1, me))
        ask(commit(group, ("g", 0, 5), generation=1, member=me), 9)
        assignment = [SyncGroupRequestAssignment(member_id=me, assignment=b"mine")]
        ask(_sync(group, 2, me, assignments=assignment))
        ask(_sync(group, 1, "another", assignments=assignment))
        ask(_sync(group, 1, me, assignments=assignment, protocol_name="other"))
        ask(_sync(group, 1, me, assignments=assignment, protocol_type="connect"))
        ask(_sync(group, 1, me, assignments=assignment))
        ask(_sync(group, 1, me))
        ask(_beat(group, 1, me))
        ask(_beat(group, 0, me))
        ask(_beat(group, 1, "another"))
        ask(commit(group, ("g", 0, 7), ("g", 99, 1), ("missing", 0, 3), generation=1, member=me), 9)
        ask(commit(group, ("g", 0, 8), generation=0, member=me), 9)
        ask(commit(group, ("g", 0, 8), generation=1, member="another"), 9)
        ask(commit(group, ("g", 0, 9)), 9)
        ask(commit(group, ("g", 0, -5), generation=1, member=me), 9)
        ask(commit(group, ("g", 0, 10), generation=1, member=me, metadata="x" * 5000), 9)
        ask(commit(group, ("g", 1, 11), generation=1, member=me, metadata=None), 9)
        ask(fetched(group, None), 7)
        ask(fetched(group, [("g", [0, 1, 2, 99]), ("missing", [0])]), 7)
        ask(join(group, me, protocols=("other",)))
        ask(join(group, "", kind="connect"))
        ask(_leave(group, "another", me))
        ask(_leave(group, me))
        ask(fetched(group, [("g", [0, 1])]), 5)
        return seen


def _by_id(target: Target) -> Any:
    rows = [("g", [0, 1]), ("missing", [0])]
    return [
        target.ask(commit("ids", ("g", 0, 5), ("missing", 0, 1), target=target), 10),
        target.ask(fetched_groups(target, ("ids", rows), ("unknown", rows)), 10),
        target.ask(fetched_groups(target, ("ids", None)), 10),
        target.ask(fetched_groups(target, ("ids", rows), ("ids", None)), 9),
        target.ask(fetched_groups(target, ("ids", rows), epoch=5), 9),
        target.ask(fetched_groups(target), 9),
    ]


def _found(*keys: str, kind: int = 0, version: int = 6) -> Probe:
    return _asked(FindCoordinatorRequest(coordinator_keys=list(keys), key_type=kind), version)


PROBES: dict[str, Probe] = {
    "join an empty group": _asked(join("")),
    "join as an unknown member": _asked(join("j1", "stranger")),
    "join v3 without an id": _asked(join("j2"), 3),
    "join with a short session": _asked(join("j3", session_ms=1)),
    "join with a long session": _asked(join("j3", session_ms=1 << 30)),
    "join with a session of -1": _asked(join("j3", session_ms=-1)),
    "join without protocols": _asked(join("j4", protocols=())),
    "join without a protocol type": _asked(join("j5", kind="")),
    "join v0 as an unknown member": _asked(join("j6", "stranger"), 0),
    "sync an unknown group": _asked(_sync("s1", 1, "stranger")),
    "sync an empty group": _asked(_sync("", 1, "stranger")),
    "sync without a type": _asked(_sync("s1", 1, "stranger", protocol_type=None, protocol_name=None)),
    "sync v0": _asked(_sync("s1", 1, "stranger"), 0),
    "a heartbeat in an unknown group": _asked(_beat("h1", 1, "stranger")),
    "a heartbeat in an empty group": _asked(_beat("", 1, "stranger")),
    "leave an unknown group": _asked(_leave("l1", "stranger", "another")),
    "leave an unknown group v1": _asked(LeaveGroupRequest(group_id="l1", member_id="stranger"), 1),
    "leave an empty group": _asked(_leave("", "stranger")),
    "leave with nobody": _asked(_leave("l1")),
    "the life of a member": _a_member_and_its_mistakes,
    "commit to an empty group": _asked(commit("", ("g", 0, 1)), 9),
    "commit in a generation of an unknown group": _asked(commit("c1", ("g", 0, 1), generation=3, member="m"), 9),
    "commit alone": _asked(commit("c2", ("g", 0, 1), ("g", 2, 9)), 9),
    "commit for unknown topics": _asked(commit("c3", ("missing", 0, 1), ("g", 77, 1), ("g", -1, 1)), 9),
    "commit nothing": _asked(commit("c4"), 9),
    "commit v2": _asked(commit("c5", ("g", 0, 1)), 2),
    "offsets of an unknown group": _asked(fetched("o1", [("g", [0, 1])]), 7),
    "offsets of an unknown group v1": _asked(fetched("o1", [("g", [0])]), 1),
    "all offsets of an unknown group": _asked(fetched("o1", None), 7),
    "all offsets of an unknown group v2": _asked(fetched("o1", None), 2),
    "offsets of an empty group": _asked(fetched("", [("g", [0])]), 7),
    "offsets of no topics": _asked(fetched("o1", []), 7),
    "offsets and topic ids": _by_id,
    "find a group": _found("f1"),
    "find two groups": _found("f1", "f2"),
    "find an empty group": _found(""),
    "find none": _found(),
    "find an unknown type": _found("f1", kind=7),
    "find a group v0": _asked(FindCoordinatorRequest(key="f1"), 0),
    "find an unknown type v3": _asked(FindCoordinatorRequest(key="f1", key_type=7), 3),
    "an idempotent producer": _asked(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1), 4),
    "an idempotent producer with a past": _asked(
        InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1, producer_id=5, producer_epoch=3), 4
    ),
    "a producer id without an epoch": _asked(
        InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1, producer_id=5), 4
    ),
    "a producer with an empty transactional id": _asked(
        InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1000), 4
    ),
}
