"""The APIs of the share coordinator, 83 to 87, and the search for it, as other brokers send them."""

from typing import Any

import pytest

from barnabas.protocol.messages import delete_share_group_state as deletes
from barnabas.protocol.messages import initialize_share_group_state as begins
from barnabas.protocol.messages import read_share_group_state as reads
from barnabas.protocol.messages import read_share_group_state_summary as summaries
from barnabas.protocol.messages import write_share_group_state as writes
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest
from barnabas.protocol.primitives import uuid_text
from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.share_states import answer_of, enable_share_groups, share_world


def topic_id(world: BrokerWorld) -> bytes:
    return world.services.catalogue.topics["t"].topic_id


def begin(world: BrokerWorld, *partitions: int, group: str = "g", start_offset: int = 0, epoch: int = 1) -> Any:
    data = [
        begins.PartitionData(partition=number, state_epoch=epoch, start_offset=start_offset) for number in partitions
    ]
    topic = begins.InitializeStateData(topic_id=topic_id(world), partitions=data)
    return begins.InitializeShareGroupStateRequest(group_id=group, topics=[topic])


def write(world: BrokerWorld, partition: int = 0, state_epoch: int = 1, leader_epoch: int = 0) -> Any:
    batch = writes.StateBatch(first_offset=0, last_offset=4, delivery_state=2, delivery_count=1)
    data = writes.PartitionData(
        partition=partition,
        state_epoch=state_epoch,
        leader_epoch=leader_epoch,
        start_offset=0,
        delivery_complete_count=5,
        state_batches=[batch],
    )
    topic = writes.WriteStateData(topic_id=topic_id(world), partitions=[data])
    return writes.WriteShareGroupStateRequest(group_id="g", topics=[topic])


def read(world: BrokerWorld, partition: int = 0, leader_epoch: int = 0) -> Any:
    data = reads.PartitionData(partition=partition, leader_epoch=leader_epoch)
    topic = reads.ReadStateData(topic_id=topic_id(world), partitions=[data])
    return reads.ReadShareGroupStateRequest(group_id="g", topics=[topic])


def summarize(world: BrokerWorld, *partitions: int) -> Any:
    data = [summaries.PartitionData(partition=number, leader_epoch=0) for number in partitions]
    topic = summaries.ReadStateSummaryData(topic_id=topic_id(world), partitions=data)
    return summaries.ReadShareGroupStateSummaryRequest(group_id="g", topics=[topic])


def delete(world: BrokerWorld, *partitions: int) -> Any:
    data = [deletes.PartitionData(partition=number) for number in partitions]
    topic = deletes.DeleteStateData(topic_id=topic_id(world), partitions=data)
    return deletes.DeleteShareGroupStateRequest(group_id="g", topics=[topic])


def only(answer: Any) -> Any:
    """The result of the only partition."""
    (topic,) = answer.results
    (partition,) = topic.partitions
    return partition


async def test_a_state_begins_changes_is_read_and_deleted() -> None:
    world = share_world()
    services = world.services
    begun = await answer_of(services, begin(world, 0))
    assert begun.results[0].topic_id == topic_id(world)
    assert (only(begun).partition, only(begun).error_code, only(begun).error_message) == (0, 0, None)
    assert only(await answer_of(services, write(world))).error_code == 0
    found = only(await answer_of(services, read(world)))
    assert (found.error_code, found.state_epoch, found.start_offset) == (0, 1, 0)
    batch = reads.StateBatch(first_offset=0, last_offset=4, delivery_state=2, delivery_count=1)
    assert found.state_batches == [batch]
    progress = only(await answer_of(services, summarize(world, 0)))
    assert (progress.state_epoch, progress.leader_epoch, progress.start_offset) == (1, 0, 0)
    assert progress.delivery_complete_count == 5
    assert only(await answer_of(services, delete(world, 0))).error_code == 0
    assert only(await answer_of(services, read(world))).error_code == 42


@pytest.mark.parametrize(("version", "count"), [(0, 0), (1, 5)])
async def test_the_count_of_complete_deliveries_is_in_version_1(version: int, count: int) -> None:
    world = share_world()
    await answer_of(world.services, begin(world, 0))
    await answer_of(world.services, write(world), version)
    assert only(await answer_of(world.services, summarize(world, 0))).delivery_complete_count == count


async def test_each_partition_has_its_own_result() -> None:
    world = share_world()
    answer = await answer_of(world.services, begin(world, 1, 0, 5, -1))
    (topic,) = answer.results
    assert [(each.partition, each.error_code) for each in topic.partitions] == [(1, 0), (0, 0), (5, 3), (-1, 42)]
    answer = await answer_of(world.services, summarize(world, 0, 5))
    assert [each.error_code for each in answer.results[0].partitions] == [0, 3]
    answer = await answer_of(world.services, delete(world, 0, 5))
    assert [each.error_code for each in answer.results[0].partitions] == [0, 3]


@pytest.mark.parametrize(
    ("state_epoch", "leader_epoch", "code"), [(1, 0, 74), (1, 3, 124), (2, 3, 0), (-1, 3, 42), (2, -1, 42), (9, 9, 0)]
)
async def test_a_late_write_is_fenced(state_epoch: int, leader_epoch: int, code: int) -> None:
    world = share_world()
    await answer_of(world.services, begin(world, 0, epoch=2))
    await answer_of(world.services, read(world, leader_epoch=3))
    answer = await answer_of(world.services, write(world, state_epoch=state_epoch, leader_epoch=leader_epoch))
    assert only(answer).error_code == code


async def test_a_read_by_an_earlier_leader_is_fenced() -> None:
    world = share_world()
    await answer_of(world.services, begin(world, 0))
    await answer_of(world.services, read(world, leader_epoch=3))
    assert only(await answer_of(world.services, read(world, leader_epoch=2))).error_code == 74


async def test_a_write_to_a_state_that_never_began_reports_it() -> None:
    world = share_world()
    result = only(await answer_of(world.services, write(world)))
    assert result.error_code == 42
    assert result.error_message == "Write operation on uninitialized share partition not allowed."
    result = only(await answer_of(world.services, read(world)))
    assert result.error_message == "Read operation on uninitialized share partition not allowed."


async def test_a_request_without_a_group_or_partitions_has_no_results() -> None:
    world = share_world()
    assert (await answer_of(world.services, begin(world, 0, group=""))).results == []
    assert (await answer_of(world.services, begin(world))).results == []
    assert (await answer_of(world.services, summarize(world))).results == []
    nothing = begins.InitializeShareGroupStateRequest(group_id="g", topics=[])
    assert (await answer_of(world.services, nothing)).results == []


async def found(world: BrokerWorld, key: str, version: int = 6) -> tuple[int, int]:
    """The error code and the node of the coordinator of a share partition."""
    if version < 4:
        answer = await answer_of(world.services, FindCoordinatorRequest(key=key, key_type=2), version)
        return answer.error_code, answer.node_id
    request = FindCoordinatorRequest(key_type=2, coordinator_keys=[key])
    (only,) = (await answer_of(world.services, request, version)).coordinators
    return only.error_code, only.node_id


async def test_the_coordinator_of_a_share_partition_is_found() -> None:
    world = share_world()
    key = f"g:{uuid_text(topic_id(world))}:0"
    assert await found(world, key) == (0, world.services.node.node_id)
    assert await found(world, "g:t:0") == (42, -1)
    assert await found(world, "g") == (42, -1)
    assert await found(world, key, version=5) == (42, -1)
    assert await found(world, key, version=3) == (42, -1)


async def test_without_share_groups_there_is_no_coordinator() -> None:
    world = share_world()
    enable_share_groups(world.services.catalogue, level=0)
    assert await found(world, f"g:{uuid_text(topic_id(world))}:0") == (15, -1)
    assert await found(world, "g") == (42, -1)
    assert world.services.deferred_shares.built is None
