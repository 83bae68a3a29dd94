"""Groups and the log directory as administrators ask about them: every version, what is not there, bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.support.probes.groups import commit, fetched, join
from tests.support.probes.wire import Target

TOPICS: dict[str, dict[str, str]] = {"admin": {}}
Probe = Callable[[Target], Any]
_joined_already: set[tuple[int, str]] = set()  # (port, group)


def _committed(target: Target, group: str) -> None:
    """A group without members that stands at 3 and 4."""
    answer = target.ask(commit(group, ("admin", 0, 3), ("admin", 1, 4)), 9)
    assert not any(each["error_code"] for topic in answer["topics"] for each in topic["partitions"]), answer


def _joined(target: Target, group: str) -> None:
    """A group whose one member has joined and waits for a minute to be told what to read."""
    if (target.port, group) not in _joined_already:
        request = join(group, session_ms=60_000)
        request.rebalance_timeout_ms = 60_000
        assert target.ask(request, 3)["error_code"] == 0
        _joined_already.add((target.port, group))


def _listed(version: int, **filters: list[str]) -> Probe:
    def probe(target: Target) -> Any:
        _committed(target, "admin-listed")
        _joined(target, f"admin-joined-{version}-{len(filters)}")
        answer = target.ask(ListGroupsRequest(**filters), version)
        ours = [group for group in answer["groups"] if group["group_id"] == "admin-listed"]
        joined = [group["group_state"] for group in answer["groups"] if "admin-joined" in group["group_id"]]
        return answer | {"groups": ours, "joined": sorted(set(joined))}

    return probe


def _described(version: int, *groups: str, operations: bool = False) -> Probe:
    def probe(target: Target) -> Any:
        _committed(target, "admin-described")
        _joined(target, f"admin-described-joined-{version}")
        named = [group.format(version=version) for group in groups]
        answer = target.ask(DescribeGroupsRequest(groups=named, include_authorized_operations=operations), version)
        return answer | {"groups": sorted(answer["groups"], key=str)}

    return probe


def _deleted(version: int, *groups: str) -> Probe:
    def probe(target: Target) -> Any:
        _committed(target, f"admin-deleted-{version}")
        _joined(target, f"admin-deleted-joined-{version}")
        answer = target.ask(
            DeleteGroupsRequest(groups_names=[each.format(version=version) for each in groups]), version
        )
        results = answer if isinstance(answer, str) else sorted(answer["results"], key=str)
        return results, target.ask(fetched(f"admin-deleted-{version}", None), 7)

    return probe


def _forgotten(group: str, *rows: tuple[str, list[int]]) -> Probe:
    def probe(target: Target) -> Any:
        _committed(target, "admin-forgets")
        _joined(target, "admin-forgets-joined")
        topics = [
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=each) for each in indexes]
            )
            for name, indexes in rows
        ]
        answer = target.ask(OffsetDeleteRequest(group_id=group, topics=topics), 0)
        return answer, target.ask(fetched("admin-forgets", [("admin", [0, 1])]), 7)

    return probe


def _sizes(version: int, rows: list[tuple[str, list[int]]]) -> Probe:
    """Of named partitions only: all of them together are other probes' affair."""

    def probe(target: Target) -> Any:
        topics = [DescribableLogDirTopic(topic=name, partitions=indexes) for name, indexes in rows]
        answer = target.ask(DescribeLogDirsRequest(topics=topics), version)
        [directory] = answer["results"]
        has_room = directory.pop("total_bytes") >= directory.pop("usable_bytes") > 0
        del directory["log_dir"]
        return answer | {"has_room": has_room}

    return probe


def _all_sizes(target: Target) -> Any:
    [directory] = target.ask(DescribeLogDirsRequest(topics=None))["results"]
    internal = ("__consumer_offsets", "__cluster_metadata")
    return {topic["name"]: len(topic["partitions"]) for topic in directory["topics"] if topic["name"] in internal}


PROBES: dict[str, Probe] = (
    {f"list groups, version {version}": _listed(version) for version in range(6)}
    | {f"describe groups, version {version}": _described(version, "admin-described", "nobody") for version in range(7)}
    | {
        f"describe a group that is joining, version {v}": _described(v, "admin-described-joined-{version}")
        for v in (2, 6)
    }
    | {
        f"delete groups, version {version}": _deleted(
            version, "admin-deleted-{version}", "admin-deleted-joined-{version}", "nobody", ""
        )
        for version in range(3)
    }
    | {f"sizes, version {version}": _sizes(version, [("f", [0, 1]), ("empty", [2])]) for version in range(1, 6)}
    | {
        "list groups in a state": _listed(5, states_filter=["eMPTY"]),
        "list groups in a state there is not": _listed(5, states_filter=["Asleep"]),
        "list groups in no state": _listed(5, states_filter=[""]),
        "list groups in several states": _listed(4, states_filter=["Stable", "CompletingRebalance"]),
        "list groups of a type": _listed(5, types_filter=["CLASSIC"]),
        "list groups of other types": _listed(5, types_filter=["consumer", "share"]),
        "list groups of a type there is not": _listed(5, types_filter=["modern"]),
        "list groups in a state and of a type": _listed(5, states_filter=["Empty"], types_filter=["classic"]),
        "describe no groups": _described(6),
        "describe a group twice": _described(6, "admin-described", "admin-described"),
        "describe the group without a name": _described(6, ""),
        "describe the group without a name, version 0": _described(0, ""),
        "describe what is allowed": _described(6, "admin-described", "nobody", operations=True),
        "describe what is allowed, version 3": _described(3, "admin-described", "nobody", operations=True),
        "delete no groups": _deleted(2),
        "delete a group twice": _deleted(2, "admin-deleted-2", "admin-deleted-2"),
        "forget an offset": _forgotten("admin-forgets", ("admin", [0])),
        "forget an offset that nobody committed": _forgotten("admin-forgets", ("admin", [2])),
        "forget an offset of a partition that is not there": _forgotten("admin-forgets", ("admin", [1, 7, -1])),
        "forget an offset of a topic that is not there": _forgotten("admin-forgets", ("nobody", [0]), ("admin", [0])),
        "forget an offset twice": _forgotten("admin-forgets", ("admin", [0, 0])),
        "forget no offsets": _forgotten("admin-forgets"),
        "forget offsets of no partitions": _forgotten("admin-forgets", ("admin", [])),
        "forget offsets of a group that is not there": _forgotten("nobody", ("admin", [0])),
        "forget offsets of a group that is not there in a topic that is not": _forgotten("nobody", ("nobody", [0])),
        "forget offsets of the group without a name": _forgotten("", ("admin", [0])),
        "forget offsets that are read": _forgotten("admin-forgets-joined", ("g", [0]), ("admin", [0])),
        "sizes of nothing": _sizes(5, []),
        "sizes of no partitions": _sizes(5, [("f", [])]),
        "sizes of what is not there": _sizes(5, [("f", [9, -1]), ("nobody", [0])]),
        "sizes of a partition twice": _sizes(5, [("f", [0, 0])]),
        "sizes of a topic twice": _sizes(5, [("f", [0]), ("f", [1])]),
        "sizes of the metadata": _sizes(5, [("__cluster_metadata", [0])]),
        "sizes of everything": _all_sizes,
    }
)
