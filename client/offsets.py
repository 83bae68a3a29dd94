"""Offsets of partitions (first, last, by timestamp), and offsets that groups commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from barnabas.client.client import GROUP, Client
from barnabas.client.clock import Deadline
from barnabas.client.errors import raise_for, worst
from barnabas.client.metadata import TopicPartition
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
)
from barnabas.protocol.registry import ApiKey

T = TypeVar("T")

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
_MEMBERS_SINCE = 9  # OffsetFetch


class OffsetAndTimestamp(NamedTuple):
    """An offset and the timestamp (ms) of its record; -1 and -1 if there is none."""

    offset: int
    timestamp: int
    leader_epoch: int


class CommittedPosition(NamedTuple):
    """The next offset to read, and the leader epoch of the last read record, -1 if unknown."""

    offset: int
    leader_epoch: int


def list_offsets(
    client: Client,
    wanted: Mapping[TopicPartition, int],
    *,
    isolation: int = READ_UNCOMMITTED,
    deadline: Deadline | None = None,
) -> dict[TopicPartition, OffsetAndTimestamp]:
    """Return for each partition the first offset at or after a timestamp (ms), or of a special timestamp."""
    deadline = deadline or client.deadline()
    found: dict[TopicPartition, OffsetAndTimestamp] = {}

    def attempt() -> None:
        missing = {where: timestamp for where, timestamp in wanted.items() if where not in found}
        answered, failures = ask_offsets(client, missing, isolation, deadline)
        found.update(answered)
        if failures:
            raise worst(failures.values())

    client.with_retries(attempt, deadline, lambda error: client.forget({topic for topic, _ in wanted}))
    return found


def ask_offsets(
    client: Client, wanted: Mapping[TopicPartition, int], isolation: int, deadline: Deadline
) -> tuple[dict[TopicPartition, OffsetAndTimestamp], dict[TopicPartition, KafkaError]]:
    """Return the found offsets, and the errors of the other partitions, in one attempt."""
    found: dict[TopicPartition, OffsetAndTimestamp] = {}
    by_leader, failures = client.leaders(wanted, deadline)
    for leader, places in by_leader.items():
        request = _list_offsets_request({where: wanted[where] for where in places}, isolation, deadline)
        try:
            _read_offsets(client.node(leader, deadline).ask(request, deadline), found, failures)
        except KafkaError as error:
            failures.update(dict.fromkeys(places, error))
    for where in wanted.keys() - found.keys() - failures.keys():
        reason = f"{where[0]}-{where[1]} is missing from the answer"
        failures[where] = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, reason)
    return found, failures


def _list_offsets_request(
    wanted: Mapping[TopicPartition, int], isolation: int, deadline: Deadline
) -> ListOffsetsRequest:
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for (topic, partition), timestamp in wanted.items():
        topics.setdefault(topic, []).append(ListOffsetsPartition(partition_index=partition, timestamp=timestamp))
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=[ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
        timeout_ms=deadline.left_ms,
    )


def _read_offsets(
    response: ListOffsetsResponse,
    found: dict[TopicPartition, OffsetAndTimestamp],
    failures: dict[TopicPartition, KafkaError],
) -> None:
    for topic in response.topics:
        for answer in topic.partitions:
            where = topic.name, answer.partition_index
            try:
                raise_for(answer.error_code, None, f"{topic.name}-{answer.partition_index}")
            except KafkaError as error:
                failures[where] = error
            else:
                found[where] = OffsetAndTimestamp(answer.offset, answer.timestamp, answer.leader_epoch)


def committed_offsets(
    client: Client,
    group: str,
    partitions: Iterable[TopicPartition] | None = None,
    *,
    require_stable: bool = True,
    deadline: Deadline | None = None,
) -> dict[TopicPartition, int]:
    """Return the committed offsets of a group, for these partitions or for all; others are left out.

    require_stable: wait for open transactions that commit for one of them.
    """
    found = committed_positions(client, group, partitions, require_stable=require_stable, deadline=deadline)
    return {where: position.offset for where, position in found.items()}


def committed_positions(
    client: Client,
    group: str,
    partitions: Iterable[TopicPartition] | None = None,
    *,
    require_stable: bool = True,
    deadline: Deadline | None = None,
) -> dict[TopicPartition, CommittedPosition]:
    """Return the committed offsets with their leader epochs, as `committed_offsets`."""
    wanted = None if partitions is None else list(partitions)

    def read(response: OffsetFetchResponse) -> dict[TopicPartition, CommittedPosition]:
        answers = _committed_answers(response, group)
        for (topic, partition), error_code, _ in answers:
            raise_for(error_code, None, f"group {group!r}, {topic}-{partition}")
        return {where: position for where, _, position in answers if position.offset >= 0}

    return _ask_committed(client, group, wanted, read, require_stable=require_stable, deadline=deadline)


def stable_offsets(
    client: Client,
    group: str,
    partitions: Iterable[TopicPartition],
    *,
    member_id: str | None = None,
    member_epoch: int = -1,
) -> dict[TopicPartition, int | None]:
    """Return the committed offsets of a group for these partitions: None if there is none.

    A partition for which an open transaction commits is left out. The others do not wait for it.
    member_id, member_epoch: the requesting member of a consumer group: KafkaError if it is not a member any more.
    """

    def read(response: OffsetFetchResponse) -> dict[TopicPartition, int | None]:
        found: dict[TopicPartition, int | None] = {}
        for where, error_code, position in _committed_answers(response, group):
            if error_code != ErrorCode.UNSTABLE_OFFSET_COMMIT:
                raise_for(error_code, None, f"group {group!r}, {where[0]}-{where[1]}")
                found[where] = position.offset if position.offset >= 0 else None
        return found

    return _ask_committed(client, group, list(partitions), read, member_id=member_id, member_epoch=member_epoch)


def _ask_committed(
    client: Client,
    group: str,
    wanted: list[TopicPartition] | None,
    read: Callable[[OffsetFetchResponse], T],
    *,
    require_stable: bool = True,
    member_id: str | None = None,
    member_epoch: int = -1,
    deadline: Deadline | None = None,
) -> T:
    """Return the result of `read` for the coordinator's response. A failure that it raises is retried as any other."""
    until = deadline or client.deadline()

    def attempt() -> T:
        coordinator = client.coordinator(GROUP, group, until)
        batched = coordinator.version(ApiKey.OFFSET_FETCH) >= 8
        request = _offset_fetch_request(group, wanted, require_stable, batched)
        if coordinator.version(ApiKey.OFFSET_FETCH) >= _MEMBERS_SINCE:
            request.groups[0].member_id, request.groups[0].member_epoch = member_id, member_epoch
        return read(coordinator.ask(request, until))

    return client.with_retries(attempt, until, lambda error: client.forget_coordinator(GROUP, group))


def _offset_fetch_request(
    group: str, partitions: list[TopicPartition] | None, require_stable: bool, batched: bool
) -> OffsetFetchRequest:
    """Return the request for the version: up to 7 it has one group, later a list of them (`batched`)."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions or ():
        topics.setdefault(topic, []).append(partition)
    if batched:
        listed = [OffsetFetchRequestTopics(name=name, partition_indexes=numbers) for name, numbers in topics.items()]
        requested = OffsetFetchRequestGroup(group_id=group, topics=None if partitions is None else listed)
        return OffsetFetchRequest(groups=[requested], require_stable=require_stable)
    single = [OffsetFetchRequestTopic(name=name, partition_indexes=numbers) for name, numbers in topics.items()]
    return OffsetFetchRequest(
        group_id=group, topics=None if partitions is None else single, require_stable=require_stable
    )


def _committed_answers(
    response: OffsetFetchResponse, group: str
) -> list[tuple[TopicPartition, int, CommittedPosition]]:
    """Return error code and position of each partition, from either format; KafkaError for an error of the group."""
    raise_for(response.error_code, None, f"group {group!r}")
    answers = [
        ((topic.name, single.partition_index), single.error_code, _position(single))
        for topic in response.topics
        for single in topic.partitions
    ]
    for found in response.groups:
        raise_for(found.error_code, None, f"group {group!r}")
        answers += [
            ((topics.name, listed.partition_index), listed.error_code, _position(listed))
            for topics in found.topics
            for listed in topics.partitions
        ]
    return answers


def _position(answer: OffsetFetchResponsePartition | OffsetFetchResponsePartitions) -> CommittedPosition:
    return CommittedPosition(answer.committed_offset, answer.committed_leader_epoch)


def commit_offsets(
    client: Client,
    group: str,
    offsets: Mapping[TopicPartition, int],
    *,
    generation_id: int = -1,
    member_id: str = "",
    instance_id: str | None = None,
) -> None:
    """Commit these offsets, each the next to be read: as a member, or by default for a group without members.

    generation_id: of a classic group; the member epoch in a consumer group. The partitions that a member read did
    exist, so UNKNOWN_TOPIC_OR_PARTITION is final for it and not retried.
    KafkaError for the first refused partition; others may be committed then.
    """
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, []).append(
            OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset, committed_metadata="")
        )
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation_id,
        member_id=member_id,
        group_instance_id=instance_id,
        topics=[OffsetCommitRequestTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
    )
    deadline = client.deadline()

    def attempt() -> None:
        response: OffsetCommitResponse = client.coordinator(GROUP, group, deadline).ask(request, deadline)
        for topic in response.topics:
            for answer in topic.partitions:
                raise_for(answer.error_code, None, f"commit of {topic.name}-{answer.partition_index}")

    final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,) if member_id else ()
    client.with_retries(attempt, deadline, lambda error: client.forget_coordinator(GROUP, group), final)


def reset_timestamp(where: TopicPartition, policy: str) -> int:
    """Return the timestamp to list: for `earliest` or `latest`; KafkaError OFFSET_OUT_OF_RANGE for `none`."""
    if policy == "none":
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE, f"{where[0]}-{where[1]} has no such offset, and there is no reset policy"
        )
    return EARLIEST if policy == "earliest" else LATEST
