"""A request about everything there is lets others have their turn: what is counted is turns, not seconds."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.broker.api.handlers.delete_records import SLICE as SLICE_RECORDS
from barnabas.broker.api.handlers.elect_leaders import SLICE as SLICE_ELECTIONS
from barnabas.broker.api.handlers.list_config_resources import SLICE as SLICE_RESOURCES
from barnabas.broker.api.handlers.list_groups import SLICE
from barnabas.broker.api.handlers.metadata import SLICE_TOPICS
from barnabas.broker.api.handlers.offset_for_leader_epoch import SLICE as SLICE_EPOCHS
from barnabas.broker.api.stages.large_responses import ENCODING
from barnabas.broker.api.stages.response_size import ELEMENTS_MAX
from barnabas.broker.config.resources.topic_configs import TOPIC_KEYS
from barnabas.broker.coordinator.group.decisions.classic.model import CommitRequest, OffsetToCommit
from barnabas.broker.metadata.catalogue import NewTopic
from barnabas.broker.metadata.config_resources.altering import SLICE_SETTINGS
from barnabas.broker.metadata.split_changes import SLICE_PARTITIONS
from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest
from barnabas.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from barnabas.protocol.messages.list_config_resources import ListConfigResourcesRequest
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.protocol.registry import ApiKey
from tests.support import requests
from tests.support.worlds.broker import BrokerWorld

E = ErrorCode


@pytest.fixture
async def world() -> BrokerWorld:
    return BrokerWorld()


def _create(world: BrokerWorld, count: int) -> list[str]:
    names = [f"topic-{number}" for number in range(count)]
    world.services.catalogue.create_topics([NewTopic(name, 1) for name in names])
    return names


async def _answer(
    world: BrokerWorld, request: Request, version: int, meanwhile: Callable[[], object] = lambda: None
) -> tuple[Any, int]:
    """The answer, and in how many turns of the loop it was made. `meanwhile` happens in the first."""
    peer = world.asking(request, version)
    assert not peer.transport.written.is_set()
    meanwhile()
    loop = asyncio.get_running_loop()
    over: asyncio.Future[int] = loop.create_future()

    def look(turns: int) -> None:
        if peer.transport.written.is_set():
            over.set_result(turns)
        else:
            loop.call_soon(look, turns + 1)

    look(0)
    turns = await over
    return peer.answer(), turns


def _syncs(world: BrokerWorld) -> int:
    """How often the catalogue was synced."""
    return sum(call.name == "sync" and "__cluster_metadata" in call.path for call in world.files.calls)


def _encoding_turns(elements: int) -> int:
    """How many turns an answer of so many elements takes beyond those in which they are found."""
    return 0 if elements <= ELEMENTS_MAX else -(-elements // ENCODING.steps_max)


@pytest.mark.parametrize(
    ("version", "elements"), [(8, 2), (9, 1)], ids=["topics, and a partition of each", "partitions are encoded before"]
)
async def test_metadata_of_all_topics_takes_turns(world: BrokerWorld, version: int, elements: int) -> None:
    names = _create(world, 2 * SLICE_TOPICS + 1)
    answer, turns = await _answer(world, MetadataRequest(topics=None), version)
    assert turns == 3 + _encoding_turns(elements * len(names))
    assert [topic.name for topic in answer.topics] == names


@pytest.mark.parametrize(
    ("request_", "version", "lists"),
    [
        (ElectLeadersRequest(topic_partitions=None), 2, "replica_election_results"),
        (ListConfigResourcesRequest(resource_types=[2]), 1, "config_resources"),
    ],
    ids=["elections", "config resources"],
)
async def test_queries_of_all_topics_run_in_slices(
    world: BrokerWorld, request_: Request, version: int, lists: str
) -> None:
    assert SLICE_ELECTIONS == SLICE_RESOURCES
    names = _create(world, 2 * SLICE_ELECTIONS + 1)
    answer, turns = await _answer(world, request_, version)
    assert (len(getattr(answer, lists)), turns) == (len(names), 3 + _encoding_turns(len(names)))


@pytest.mark.parametrize("api", ["deletions", "epochs"])
async def test_opening_many_partitions_runs_in_slices(world: BrokerWorld, api: str) -> None:
    assert SLICE_RECORDS == SLICE_EPOCHS
    numbers = range(2 * SLICE_RECORDS + 1)
    world.services.catalogue.create_topic("t", len(numbers))
    records = [DeleteRecordsPartition(partition_index=number, offset=0) for number in numbers]
    epochs = [OffsetForLeaderPartition(partition=number, current_leader_epoch=-1, leader_epoch=0) for number in numbers]
    request: Request = (
        DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="t", partitions=records)], timeout_ms=1_000)
        if api == "deletions"
        else OffsetForLeaderEpochRequest(replica_id=-1, topics=[OffsetForLeaderTopic(topic="t", partitions=epochs)])
    )
    answer, turns = await _answer(world, request, 2)
    assert turns == 3 + (api == "deletions"), "these go on without a client, which costs a turn"
    assert [partition.error_code for partition in answer.topics[0].partitions] == [E.NONE] * len(numbers)


async def test_the_creation_of_many_topics_and_of_more_partitions_takes_turns(world: BrokerWorld) -> None:
    names = [f"topic_{number}" for number in range(2 * SLICE_PARTITIONS + 1)]
    asked = [topic for name in names for topic in requests.create_topic(name, 1, 1).topics]
    create = CreateTopicsRequest(topics=[*asked, asked[0]], timeout_ms=1_000, validate_only=False)
    late = f"topic.{len(names) - 1}"
    answer, turns = await _answer(world, create, 7, lambda: world.services.catalogue.create_topic(late, 1))
    assert turns >= 3, "each change in one of its own"
    told = {topic.name: topic.error_code for topic in answer.topics}
    assert told == dict.fromkeys(names, E.NONE) | {names[0]: E.INVALID_REQUEST, names[-1]: E.INVALID_TOPIC_EXCEPTION}
    world.services.catalogue.delete_topics([late])
    world.services.catalogue.create_topic(names[-1], 1)
    topics = [CreatePartitionsTopic(name=name, count=2, assignments=None) for name in names[1:]]
    grow = CreatePartitionsRequest(topics=topics, timeout_ms=1_000, validate_only=False)
    answer, turns = await _answer(world, grow, 3)
    assert turns >= 3
    assert {result.error_code for result in answer.results} == {E.NONE}


async def test_topics_that_metadata_names_are_created_in_turns_and_few_writes(world: BrokerWorld) -> None:
    names = [*_create(world, 1), *(f"new-{number}" for number in range(2 * SLICE_PARTITIONS + 1)), "not/one"]
    asked = [MetadataRequestTopic(topic_id=bytes(16), name=name) for name in names]
    before = _syncs(world)
    answer, turns = await _answer(world, MetadataRequest(topics=asked, allow_auto_topic_creation=True), 12)
    assert (turns >= 3, _syncs(world) - before) == (True, 3)
    codes = [E.NONE] * (len(names) - 1) + [E.INVALID_TOPIC_EXCEPTION]
    assert [(topic.name, topic.error_code) for topic in answer.topics] == list(zip(names, codes, strict=True))


@pytest.mark.parametrize("key", [ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS])
async def test_the_settings_of_many_topics_are_changed_in_turns_and_few_writes(world: BrokerWorld, key: ApiKey) -> None:
    names = _create(world, 2 * SLICE_SETTINGS + 1)
    settings = [AlterableConfig(name="retention.ms", value="1000")]
    request: Any = AlterConfigsRequest(
        resources=[
            AlterConfigsResource(resource_type=2, resource_name=name, configs=settings) for name in (*names, "missing")
        ],
        validate_only=False,
    )
    if key is ApiKey.INCREMENTAL_ALTER_CONFIGS:
        asked = [requests.alter_config(2, name, "retention.ms", "1000").resources for name in (*names, "missing")]
        request = IncrementalAlterConfigsRequest(resources=[each for (each,) in asked], validate_only=False)
    catalogue, before = world.services.catalogue, _syncs(world)
    answer, turns = await _answer(world, request, key.max_version, lambda: catalogue.delete_topics([names[-1]]))
    assert (turns >= 3, _syncs(world) - before) == (True, 2 + 1), "two of what was changed, and the deletion"
    told = {result.resource_name: result.error_code for result in answer.responses}
    unknown = dict.fromkeys((names[-1], "missing"), E.UNKNOWN_TOPIC_OR_PARTITION)
    assert told == dict.fromkeys(names, E.NONE) | unknown
    assert {tuple(topic.configs.items()) for topic in catalogue.topics.values()} == {(("retention.ms", "1000"),)}


async def test_the_settings_of_all_topics_are_reported_in_turns(world: BrokerWorld) -> None:
    names = _create(world, 400)
    resources = [
        DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None) for name in names
    ]
    answer, turns = await _answer(world, DescribeConfigsRequest(resources=resources), 4)
    assert turns > 1
    assert {(result.error_code, len(result.configs)) for result in answer.results} == {(E.NONE, len(TOPIC_KEYS))}


async def test_the_list_of_groups_takes_turns(world: BrokerWorld) -> None:
    topic = world.services.catalogue.create_topic("t", 1)
    groups = [f"group-{number}" for number in range(2 * SLICE + 1)]
    for group_id in groups:
        offset = OffsetToCommit("t", topic.topic_id, 0, 1, 0, "")
        request = CommitRequest(group_id, -1, "", None, (offset,))
        world.services.groups.commit_offsets(request, missing_group=E.NONE)
    answer, turns = await _answer(world, ListGroupsRequest(states_filter=[], types_filter=[]), 5)
    assert turns == 4 + _encoding_turns(len(groups)), "one more, in which it is asked whether all of it is synced"
    assert sorted(group.group_id for group in answer.groups) == sorted(groups)


async def test_the_deletion_of_many_topics_takes_turns(world: BrokerWorld) -> None:
    names = _create(world, 2 * SLICE_PARTITIONS + 1)
    catalogue = world.services.catalogue
    request = DeleteTopicsRequest(topic_names=names, timeout_ms=1_000)
    answer, turns = await _answer(world, request, 5, lambda: catalogue.delete_topics([names[-1]]))
    assert turns == 3 + 1, "it goes on without a client, which costs a turn"
    assert {topic.name: topic.error_code for topic in answer.responses} == {
        name: E.UNKNOWN_TOPIC_OR_PARTITION if name == names[-1] else E.NONE for name in names
    }
    assert not catalogue.topics


async def test_a_topic_made_again_while_its_deletion_waits_is_not_deleted(world: BrokerWorld) -> None:
    names = _create(world, SLICE_PARTITIONS + 1)
    catalogue = world.services.catalogue

    def make_again() -> None:
        catalogue.delete_topics([names[-1]])
        catalogue.create_topic(names[-1], 1)

    await _answer(world, DeleteTopicsRequest(topic_names=names, timeout_ms=1_000), 5, make_again)
    assert list(catalogue.topics) == [names[-1]]


async def test_the_first_batch_of_a_partition_in_a_run_makes_one_sync_and_the_runs_first_opens_the_epoch() -> None:
    first = BrokerWorld(topics={"t": 3})
    for number in range(3):
        await first.connect().put(requests.produce({number: first.batch(b"v")}, acks=1), 12)
    await first.close()
    world, made = BrokerWorld(files=first.files), []
    for number in (0, 1, 1, 2):
        before = sum(call.name == "sync" for call in world.files.calls)
        await world.connect().put(requests.produce({number: world.batch(b"v")}, acks=1), 12)
        made.append(sum(call.name == "sync" for call in world.files.calls) - before)
    assert made == [2, 1, 0, 1]
