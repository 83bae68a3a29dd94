"""Fetch and its sessions, ListOffsets, DeleteRecords and OffsetForLeaderEpoch over topics whose content is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, ReplicaState
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.support.probes.produce import NOW, batch, request
from tests.support.probes.wire import Target, comparable, frame

TOPICS: dict[str, dict[str, str]] = {"f": {}, "f2": {}, "cut": {}, "empty": {}}
OWN_ID = b"an unknown id !!"


def fill(target: Target) -> None:
    """Three batches of ten records in f-0, f2-0 and cut-0, the second compressed; five records of cut-0 are deleted."""
    for topic in ("f", "f2", "cut"):
        for n in range(3):
            values = [f"{n}-{i}".encode() * 10 for i in range(10)]
            data = batch(*values, compression=n % 2, timestamp=NOW + n * 1000)
            outcome = target.ask(request(target, (topic, 0, data)), 11)
            assert outcome["responses"][0]["partition_responses"][0]["error_code"] == 0, outcome
    deleted = target.ask(_delete(("cut", 0, 5)))
    assert deleted["topics"][0]["partitions"][0]["error_code"] == 0, deleted


def fetch(
    target: Target,
    *partitions: tuple[str, int, int] | tuple[str, int, int, dict[str, int]],
    partition_max_bytes: int = 1 << 20,
    wait_ms: int = 0,
    **fields: Any,
) -> FetchRequest:
    topics = []
    for topic, index, offset, *more in partitions:
        named: dict[str, Any] = {"partition_max_bytes": partition_max_bytes, **(more[0] if more else {})}
        topics.append(
            FetchTopic(
                topic=topic,
                topic_id=target.topic_ids.get(topic, OWN_ID),
                partitions=[FetchPartition(partition=index, fetch_offset=offset, **named)],
            )
        )
    return FetchRequest(**{"max_wait_ms": wait_ms, "min_bytes": 1, "topics": topics, **fields})


def _once(*partitions: Any, version: int = 11, **fields: Any) -> Callable[[Target], Any]:
    return lambda target: target.ask(fetch(target, *partitions, **fields), version)


class _Session:
    """Fetches of one session on one connection."""

    def __init__(self, target: Target, version: int) -> None:
        self.target, self.version = target, version
        self.wire = target.connect()
        self.id = 0

    def ask(self, *partitions: Any, epoch: int, session_id: int | None = None, **fields: Any) -> Any:
        asked = fetch(
            self.target,
            *partitions,
            session_id=self.id if session_id is None else session_id,
            session_epoch=epoch,
            **fields,
        )
        self.wire.send(frame(asked, self.version))
        answer = self.wire.answer_to(asked, self.version)
        if isinstance(answer, str):
            return answer
        self.id = answer.session_id or self.id
        return comparable(answer)


def _session(version: int) -> Callable[[Target], Any]:
    def probe(target: Target) -> Any:
        session = _Session(target, version)
        with session.wire:
            return [
                session.ask(("f", 0, 0), ("f2", 0, 30), ("empty", 0, 0), epoch=0),
                session.ask(epoch=1),
                session.ask(("f2", 0, 20), epoch=2),
                session.ask(epoch=2),  # again
                session.ask(epoch=3, forgotten_topics_data=[_forgotten(target, "f", [0, 7])]),
                session.ask(("f", 0, 25), ("missing", 0, 0), ("f", 9, 0), epoch=4),
                session.ask(epoch=5),
                session.ask(epoch=99),
                session.ask(epoch=1, session_id=12345),
                session.ask(("f", 0, 20), epoch=-1),  # closes it
                session.ask(epoch=6),
            ]

    return probe


def _session_of_errors(version: int) -> Callable[[Target], Any]:
    def probe(target: Target) -> Any:
        session = _Session(target, version)
        with session.wire:
            return [
                session.ask(("f", 0, 1000), ("missing", 0, 0), epoch=0),
                session.ask(epoch=1),
                session.ask(("f", 0, 29), epoch=2),
                session.ask(epoch=3),
            ]

    return probe


def _forgotten(target: Target, topic: str, partitions: list[int]) -> ForgottenTopic:
    return ForgottenTopic(topic=topic, topic_id=target.topic_ids.get(topic, OWN_ID), partitions=partitions)


def list_offsets(
    *rows: tuple[str, int, int] | tuple[str, int, int, int], version: int = 10, **fields: Any
) -> Callable[[Target], Any]:
    def probe(target: Target) -> Any:
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for topic, index, timestamp, *epoch in rows:
            topics.setdefault(topic, []).append(
                ListOffsetsPartition(
                    partition_index=index, timestamp=timestamp, current_leader_epoch=epoch[0] if epoch else -1
                )
            )
        named = [ListOffsetsTopic(name=name, partitions=each) for name, each in topics.items()]
        outcome = target.ask(ListOffsetsRequest(**{"replica_id": -1, "topics": named, **fields}), version)
        return _in_order(outcome, "topics", "partitions")

    return probe


def _in_order(outcome: Any, outer: str, inner: str) -> Any:
    """The order of the partitions in these answers is that of a hash map in Kafka."""
    if isinstance(outcome, dict):
        for topic in outcome[outer]:
            topic[inner].sort(key=str)
        outcome[outer].sort(key=str)
    return outcome


def _delete(*rows: tuple[str, int, int]) -> DeleteRecordsRequest:
    return DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=index, offset=offset)])
            for topic, index, offset in rows
        ],
        timeout_ms=1000,
    )


def _deleted(*rows: tuple[str, int, int]) -> Callable[[Target], Any]:
    return lambda target: _in_order(target.ask(_delete(*rows)), "topics", "partitions")


def _epochs(*rows: tuple[str, int, int, int], replica_id: int = -1) -> Callable[[Target], Any]:
    def probe(target: Target) -> Any:
        asked = OffsetForLeaderEpochRequest(
            replica_id=replica_id,
            topics=[
                OffsetForLeaderTopic(
                    topic=topic,
                    partitions=[
                        OffsetForLeaderPartition(partition=index, current_leader_epoch=current, leader_epoch=epoch)
                    ],
                )
                for topic, index, current, epoch in rows
            ],
        )
        return _in_order(target.ask(asked), "topics", "partitions")

    return probe


_FORMER = {"current_leader_epoch": 99}
_DIVERGED = {"last_fetched_epoch": 99}

PROBES: dict[str, Callable[[Target], Any]] = {
    **{f"fetch v{version}": _once(("f", 0, 0), version=version) for version in range(4, 19)},
    "from the middle of a batch": _once(("f", 0, 15)),
    "from the end": _once(("f", 0, 30)),
    "beyond the end": _once(("f", 0, 31)),
    "from offset -1": _once(("f", 0, -1)),
    "from offset -2": _once(("f", 0, -2)),
    "below the start": _once(("cut", 0, 4)),
    "from the start of a cut log": _once(("cut", 0, 5)),
    "an unknown topic": _once(("missing", 0, 0)),
    "an unknown partition": _once(("f", 99, 0)),
    "partition -1": _once(("f", -1, 0)),
    "an unknown topic id": _once(("missing", 0, 0), ("f", 0, 0), version=13),
    "an unknown partition of an id": _once(("f", 99, 0), version=13),
    "a zero topic id": lambda target: target.ask(
        FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            topics=[FetchTopic(partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=99)])],
        ),
        13,
    ),
    "no topics": _once(wait_ms=300),
    "a topic without partitions": lambda target: target.ask(
        FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic="f", partitions=[])]), 11
    ),
    "max_bytes 0": _once(("f", 0, 0), max_bytes=0),
    "max_bytes -1": _once(("f", 0, 0), max_bytes=-1),
    "max_bytes 1 of two partitions": _once(("f", 0, 0), ("f2", 0, 0), max_bytes=1),
    "partition_max_bytes 0": _once(("f", 0, 0), partition_max_bytes=0),
    "partition_max_bytes -1": _once(("f", 0, 0), partition_max_bytes=-1),
    "partition_max_bytes 1 of two partitions": _once(("f", 0, 0), ("f2", 0, 0), partition_max_bytes=1),
    "min_bytes -1": _once(("f", 0, 30), min_bytes=-1),
    "min_bytes above max_bytes": _once(("f", 0, 0), min_bytes=1 << 30, max_bytes=10, wait_ms=5000),
    "max_wait -1": _once(("f", 0, 30), wait_ms=-1),
    "isolation level 1": _once(("f", 0, 0), isolation_level=1),
    "isolation level 2": _once(("f", 0, 0), isolation_level=2),
    "isolation level -1": _once(("f", 0, 0), isolation_level=-1),
    "a replica's fetch": _once(("f", 0, 0), replica_id=5),
    "a replica's fetch by this broker's id": _once(("f", 0, 0), replica_id=1),
    "a replica's fetch v15": _once(("f", 0, 0), version=15, replica_state=ReplicaState(replica_id=5, replica_epoch=3)),
    "the debugging replica": _once(("f", 0, 0), replica_id=-2),
    "a leader epoch of the future": _once(("f", 0, 0, _FORMER)),
    "a leader epoch of the future v16": _once(("f", 0, 0, _FORMER), version=16),
    "an epoch that never was fetched": _once(("f", 0, 0, _DIVERGED), version=12),
    "a partition twice": _once(("f", 0, 0), ("f", 0, 20)),
    "an internal topic": _once(("__consumer_offsets", 0, 0)),
    "a session v7": _session(7),
    "a session v12": _session(12),
    "a session v13": _session(13),
    "a session v18": _session(18),
    "a session of errors v12": _session_of_errors(12),
    "a session of errors v13": _session_of_errors(13),
    "a session id without a session": _once(("f", 0, 0), session_id=77, session_epoch=3),
    "a session id with epoch 0": _once(("f", 0, 20), session_id=77, session_epoch=0),
    "a session id with epoch -1": _once(("f", 0, 20), session_id=77, session_epoch=-1),
    "session 0 with epoch 5": _once(("f", 0, 20), session_id=0, session_epoch=5),
    **{
        f"offsets at {timestamp}": list_offsets(("f", 0, timestamp), ("cut", 0, timestamp), ("empty", 0, timestamp))
        for timestamp in (-1, -2, -3, -4, -5, -7, -100, 0, NOW, NOW + 1, NOW + 1000, NOW + 2001)
    },
    "offsets at -6 v11": list_offsets(("f", 0, -6), version=11),
    "offsets at -6 v10": list_offsets(("f", 0, -6)),
    "offsets at -3 v6": list_offsets(("f", 0, -3), version=6),
    "offsets at -4 v7": list_offsets(("f", 0, -4), version=7),
    "offsets at -5 v8": list_offsets(("f", 0, -5), version=8),
    "offsets v1": list_offsets(("f", 0, NOW + 1), ("f", 9, 0), ("missing", 0, 0), version=1),
    "offsets of unknown ones": list_offsets(("missing", 0, -1), ("f", 99, -1), ("f", -1, -1)),
    "offsets of a partition twice": list_offsets(("f", 0, -1), ("f", 0, -2), ("f", 1, -1)),
    "offsets read committed": list_offsets(("f", 0, -1), isolation_level=1),
    "offsets at isolation level 3": list_offsets(("f", 0, -1), isolation_level=3),
    "offsets for a replica": list_offsets(("f", 0, -1), replica_id=5),
    "offsets in a future epoch": list_offsets(("f", 0, -1, 99)),
    "offsets of no topics": list_offsets(),
    "delete nothing": _deleted(("f", 0, 0)),
    "delete beyond the end": _deleted(("f", 0, 31)),
    "delete at -2": _deleted(("f", 0, -2)),
    "delete of unknown ones": _deleted(("missing", 0, 0), ("f", 99, 0)),
    "delete of an empty partition": _deleted(("empty", 0, -1)),
    "delete of an internal topic": _deleted(("__consumer_offsets", 0, -1)),
    "delete of a compacted topic": _deleted(("compacted", 0, -1)),
    "epochs": _epochs(("f", 0, -1, 0), ("missing", 0, -1, 0), ("f", 99, -1, 0)),
    "an epoch of the future": _epochs(("f", 0, -1, 99)),
    "epoch -1": _epochs(("f", 0, -1, -1)),
    "a current epoch of the future": _epochs(("f", 0, 99, 0)),
}
