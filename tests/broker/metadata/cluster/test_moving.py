"""Leaders and coordinators that move between three nodes of one process, and nodes that stop and start alone."""

from typing import Any

import pytest

from barnabas.broker.metadata.catalogue.config_alterations import Alteration, AlterConfigOp
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.protocol.messages.metadata import MetadataRequest
from tests.broker.metadata.cluster.test_three_nodes import (
    ask,
    committed,
    coordinator_of,
    create,
    fetched,
    fetched_offset,
    kept_at,
    metadata,
    produced,
)
from tests.support.requests import BY_NAME, alter_config, end_txn, epoch_ends, fetch, init_producer, join_group, produce
from tests.support.worlds import moves
from tests.support.worlds.broker import BrokerWorld, settle

OFFSETS = "__consumer_offsets"


@pytest.fixture
async def world() -> BrokerWorld:
    world = BrokerWorld(nodes=3)
    await create(world, "t", assignments=[[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    return world


async def switch(world: BrokerWorld, node: int | str, is_stopped: str, asked: int = 1, broker: str = "") -> Any:
    operation = AlterConfigOp.APPEND if is_stopped == "true" else AlterConfigOp.SUBTRACT
    request = alter_config(4, broker, "barnabas.nodes.stopped", str(node), operation)
    (result,) = (await ask(world, asked, request)).responses
    return result


async def reassign(world: BrokerWorld, wishes: dict[tuple[str, int], list[int] | None], asked: int = 1) -> list[int]:
    topics = [
        ReassignableTopic(name=name, partitions=[ReassignablePartition(partition_index=number, replicas=replicas)])
        for (name, number), replicas in wishes.items()
    ]
    answer = await ask(world, asked, AlterPartitionReassignmentsRequest(timeout_ms=1000, topics=topics))
    return [topic.partitions[0].error_code for topic in answer.responses]


async def elect(world: BrokerWorld, kind: int, topic: str, *numbers: int) -> list[tuple[int, int]]:
    places = [TopicPartitions(topic=topic, partitions=list(numbers))] if numbers else None
    request = ElectLeadersRequest(election_type=kind, topic_partitions=places, timeout_ms=1000)
    results = (await ask(world, 1, request)).replica_election_results
    return [(each.partition_id, each.error_code) for found in results for each in found.partition_result]


async def leader_to(world: BrokerWorld, topic: str, number: int, node: int) -> None:
    replicas = world.broker.shared_storage.nodes.of(topic, number).replicas  # type: ignore[union-attr]  # it has three nodes
    wanted = [node, *(each for each in replicas if each != node)]
    assert await reassign(world, {(topic, number): wanted}) == [E.NONE]
    assert await elect(world, 0, topic, number) in ([(number, E.NONE)], [(number, E.ELECTION_NOT_NEEDED)])


def places(found: list[Any]) -> list[tuple[int, list[int]]]:
    return [(each.leader_id, each.isr_nodes) for each in found]


async def test_a_topic_deleted_while_its_reassignment_is_looked_at_is_not_reassigned(world: BrokerWorld) -> None:
    await create(world, "u", assignments=[[1]])
    many = [ReassignablePartition(partition_index=0, replicas=[2, 1, 3])] * 1_001  # more than one slice
    topics = [ReassignableTopic(name="t", partitions=many), ReassignableTopic(name="u", partitions=many[:1])]
    peer = world.connect_to(1)
    peer.ask(AlterPartitionReassignmentsRequest(timeout_ms=1000, topics=topics))
    world.services.catalogue.delete_topics(["t"])
    await settle()
    found = {topic.name: topic.partitions for topic in peer.answer().responses}
    assert found["t"][0].error_code == E.UNKNOWN_TOPIC_OR_PARTITION
    assert found["u"][0].error_code == E.NONE
    assert places(await metadata(world, name="u")) == [(1, [2, 1, 3])]


# --- nodes that stop -------------------------------------------------------------------------------------------------


async def test_a_stopped_node_leaves_the_isr_and_its_partitions_go_to_the_next_replica(world: BrokerWorld) -> None:
    assert (await switch(world, 2, "true")).error_code == E.NONE
    found = await metadata(world)
    assert places(found) == [(1, [1, 3]), (3, [3, 1]), (3, [3, 1])]
    assert [each.offline_replicas for each in found] == [[2]] * 3
    assert [each.node_id for each in (await ask(world, 1, MetadataRequest(topics=[]))).brokers] == [1, 3]


async def test_leader_epochs_rise_where_leaders_move_and_nowhere_else(world: BrokerWorld) -> None:
    await produced(world, 1, 0)
    before = [each.leader_epoch for each in await metadata(world)]
    await switch(world, 2, "true")
    assert [each.leader_epoch for each in await metadata(world)] == [before[0], before[1] + 1, before[2]]
    await switch(world, 2, "false")
    assert places(await metadata(world)) == [(1, [1, 2, 3]), (3, [2, 3, 1]), (3, [3, 1, 2])], "it leads nothing yet"
    assert await elect(world, 0, "t", 0, 1) == [(0, E.ELECTION_NOT_NEEDED), (1, E.NONE)]
    assert [each.leader_epoch for each in await metadata(world)] == [before[0], before[1] + 2, before[2]]


async def test_epochs_rise_over_restarts_with_one_node_and_with_three(world: BrokerWorld) -> None:
    await produced(world, 2, 1)
    await switch(world, 2, "true")
    (epoch,) = {each.leader_epoch for each in await metadata(world) if each.partition_index == 1}
    await world.close()
    alone = BrokerWorld(files=world.files)
    await produced(alone, 1, 1)
    then = (await metadata(alone))[1].leader_epoch
    assert then > epoch
    await alone.close()
    again = BrokerWorld(files=world.files, nodes=3)
    found = await metadata(again)
    assert places(found) == [(1, [1, 3]), (3, [3, 1]), (3, [3, 1])], "2 is stopped still"
    assert found[1].leader_epoch >= then


async def test_a_client_that_knows_the_old_leader_receives_the_new_one_and_its_epoch(world: BrokerWorld) -> None:
    await produced(world, 2, 1)
    await leader_to(world, "t", 1, 3)
    answer = await ask(world, 2, produce({1: world.batch(b"v")}, acks=1), BY_NAME)
    ((result,),) = [topic.partition_responses for topic in answer.responses]
    assert result.error_code == E.NOT_LEADER_OR_FOLLOWER
    assert (result.current_leader.leader_id, result.current_leader.leader_epoch) == (3, 1)
    assert (await fetched(world, 3, 1, epoch=0)).error_code == E.FENCED_LEADER_EPOCH


async def test_a_producer_on_the_short_path_is_sent_away_when_the_leader_moves(world: BrokerWorld) -> None:
    assert [(await produced(world, 2, 1)).error_code for _ in range(3)] == [E.NONE] * 3
    await leader_to(world, "t", 1, 3)
    assert (await produced(world, 2, 1)).error_code == E.NOT_LEADER_OR_FOLLOWER
    assert (await produced(world, 3, 1)).base_offset == 3
    await leader_to(world, "t", 1, 2)
    assert (await produced(world, 2, 1)).base_offset == 4


async def test_epochs_end_where_the_leader_moved(world: BrokerWorld) -> None:
    await produced(world, 2, 1)
    await produced(world, 2, 1)
    await leader_to(world, "t", 1, 3)
    await produced(world, 3, 1)
    (found,) = (await ask(world, 3, epoch_ends(1))).topics
    assert [(each.leader_epoch, each.end_offset) for each in found.partitions] == [(0, 2)]


@pytest.mark.parametrize(
    ("version", "knows_the_epoch", "code"), [(10, False, E.NOT_LEADER_OR_FOLLOWER), (12, True, E.FENCED_LEADER_EPOCH)]
)
async def test_a_waiting_reader_is_sent_away_when_the_leader_moves(
    world: BrokerWorld, version: int, knows_the_epoch: bool, code: E
) -> None:
    await produced(world, 2, 1)
    peer = world.connect_to(2)
    epoch = (await metadata(world))[1].leader_epoch if knows_the_epoch else -1
    await peer.put(fetch(1, offset=1, epoch=epoch, wait_ms=10_000), version)
    assert peer.answers() == []
    await leader_to(world, "t", 1, 3)
    ((result,),) = [topic.partitions for topic in peer.answer().responses]
    assert result.error_code == code


async def test_connections_of_a_stopped_node_are_closed_and_others_are_not(world: BrokerWorld) -> None:
    at_two, at_three = world.connect_to(2), world.connect_to(3)
    await switch(world, 2, "true")
    assert (at_two.is_closed, at_three.is_closed) == (True, False)


async def test_a_node_may_be_requested_to_stop_itself(world: BrokerWorld) -> None:
    assert (await switch(world, 2, "true", asked=2)).error_code == E.NONE


async def test_the_last_replica_in_sync_is_waited_for(world: BrokerWorld) -> None:
    await create(world, "u", assignments=[[2, 3]])
    await switch(world, 3, "true")
    await switch(world, 2, "true")
    (found,) = await metadata(world, name="u")
    assert (found.error_code, found.leader_id, found.isr_nodes) == (E.LEADER_NOT_AVAILABLE, -1, [2])
    await switch(world, 3, "false")
    assert (await metadata(world, name="u"))[0].leader_id == -1, "3 was not in sync"
    assert await elect(world, 0, "u", 0) == [(0, E.PREFERRED_LEADER_NOT_AVAILABLE)]
    assert await elect(world, 1, "u", 0) == [(0, E.NONE)]
    (found,) = await metadata(world, name="u")
    assert (found.leader_id, found.isr_nodes) == (3, [3])
    await switch(world, 2, "false")
    (found,) = await metadata(world, name="u")
    assert (found.leader_id, found.isr_nodes) == (3, [2, 3])


@pytest.mark.parametrize(
    ("node", "broker", "code"), [(4, "", E.INVALID_REQUEST), ("two", "", E.INVALID_CONFIG), (2, "3", E.NONE)]
)
async def test_an_unknown_node_is_not_stopped(world: BrokerWorld, node: Any, broker: str, code: int) -> None:
    assert (await switch(world, node, "true", broker=broker)).error_code == code


async def test_the_last_node_that_runs_is_not_stopped(world: BrokerWorld) -> None:
    await switch(world, 2, "true")
    await switch(world, 3, "true")
    refused = await switch(world, 1, "true")
    assert (refused.error_code, "One node must run" in refused.error_message) == (E.INVALID_REQUEST, True)


async def test_with_one_node_there_is_no_such_setting() -> None:
    alone = BrokerWorld()
    assert (await switch(alone, 1, "true")).error_code != E.NONE


# --- min.insync.replicas ---------------------------------------------------------------------------------------------


def set_min_isr(world: BrokerWorld, topic: str, count: int) -> None:
    wish = Alteration("min.insync.replicas", AlterConfigOp.SET, str(count))
    world.services.catalogue.alter_configs(2, topic, [wish])


async def test_too_few_replicas_in_sync_refuse_acks_of_all_and_hold_the_watermark(world: BrokerWorld) -> None:
    set_min_isr(world, "t", 2)
    assert (await produced(world, 1, 0)).error_code == E.NONE
    await switch(world, 2, "true")
    assert (await produced(world, 1, 0)).error_code == E.NONE, "two are left"
    await switch(world, 3, "true")
    assert (await produced(world, 1, 0)).error_code == E.NOT_ENOUGH_REPLICAS
    assert (await produced(world, 1, 0, acks=1)).base_offset == 2
    assert (await fetched(world, 1, 0)).high_watermark == 2, "the third record is not replicated"
    await switch(world, 3, "false")
    assert (await produced(world, 1, 0)).base_offset == 3
    assert (await fetched(world, 1, 0)).high_watermark == 4


async def test_the_setting_counts_from_when_it_is_made_and_never_for_more_than_there_are(world: BrokerWorld) -> None:
    await produced(world, 1, 0)
    await switch(world, 2, "true")
    set_min_isr(world, "t", 5)
    assert (await produced(world, 1, 0)).error_code == E.NOT_ENOUGH_REPLICAS
    await switch(world, 2, "false")
    assert (await produced(world, 1, 0)).error_code == E.NONE, "of three replicas three are in sync"
    await create(world, "u", assignments=[[1]])
    set_min_isr(world, "u", 2)
    assert [each.isr_nodes for each in await metadata(world, name="u")] == [[1]]


async def test_a_coordinator_without_replicas_in_sync_is_not_available(world: BrokerWorld) -> None:
    group = kept_at(0)
    await coordinator_of(world, group, 0)
    for node in (2, 3):
        await switch(world, node, "true")
    assert await committed(world, 1, group) == E.NONE, "one is enough unless more are asked for"
    set_min_isr(world, OFFSETS, 2)
    assert await committed(world, 1, group) == E.COORDINATOR_NOT_AVAILABLE
    await switch(world, 2, "false")
    assert await committed(world, 1, group, offset=9) == E.NONE
    assert await fetched_offset(world, 1, group) == (E.NONE, 9)


# --- partitions that are moved ---------------------------------------------------------------------------------------


async def test_partitions_move_to_other_replicas_at_once(world: BrokerWorld) -> None:
    assert await reassign(world, {("t", 0): [2, 3], ("t", 1): [2]}) == [E.NONE, E.NONE]
    found = await metadata(world)
    assert [(each.leader_id, each.replica_nodes) for each in found[:2]] == [(2, [2, 3]), (2, [2])]


@pytest.mark.parametrize(
    ("replicas", "code"),
    [
        ([4], E.INVALID_REPLICA_ASSIGNMENT),
        ([1, 1], E.INVALID_REPLICA_ASSIGNMENT),
        ([], E.INVALID_REPLICA_ASSIGNMENT),
        (None, E.NO_REASSIGNMENT_IN_PROGRESS),
        ([3], E.INVALID_REPLICA_ASSIGNMENT),
    ],
)
async def test_a_move_that_cannot_be_is_refused(world: BrokerWorld, replicas: list[int] | None, code: int) -> None:
    await switch(world, 3, "true")
    assert await reassign(world, {("t", 0): replicas}) == [code]


async def test_a_partition_without_a_leader_does_not_leave_its_replicas_in_sync(world: BrokerWorld) -> None:
    await create(world, "u", assignments=[[1, 2]])
    await switch(world, 2, "true")
    await switch(world, 1, "true", asked=3)
    await switch(world, 2, "false", asked=3)
    assert await reassign(world, {("u", 0): [2, 3]}, asked=3) == [E.INVALID_REPLICA_ASSIGNMENT]
    assert places(await metadata(world, 3, name="u")) == [(-1, [1])]
    assert await reassign(world, {("u", 0): [3, 1]}, asked=3) == [E.NONE]
    assert places(await metadata(world, 3, name="u")) == [(-1, [1])]
    world.services.catalogue.alter_configs(
        2, "u", [Alteration("unclean.leader.election.enable", AlterConfigOp.SET, "true")]
    )
    assert await reassign(world, {("u", 0): [3, 2]}, asked=3) == [E.NONE]
    assert places(await metadata(world, 3, name="u")) == [(3, [3, 2])], "2 has joined since"


async def test_leaders_of_all_topics_are_evened_out(world: BrokerWorld) -> None:
    await switch(world, 1, "true", asked=2)
    await switch(world, 1, "false", asked=2)
    assert [each.leader_id for each in await metadata(world)] == [2, 2, 3]
    assert await elect(world, 0, "") == [(0, E.NONE)]
    assert [each.leader_id for each in await metadata(world)] == [1, 2, 3]


async def test_a_partition_moved_under_several_nodes_is_appended_to_where_it_is_now() -> None:
    world = BrokerWorld({"log.dirs": "/one,/two"}, nodes=3)
    await world.broker.start()
    assert world.broker.shared_storage is not None
    await create(world, "t", assignments=[[2, 3, 1]])
    leader = world.broker.shared_storage.of_node[2]
    leader.partitions.append("t", 0, bytearray(world.batch(b"before")))
    assert await moves.ask(world, moves.elsewhere(world)) is E.NONE
    await moves.done(world)
    leader.partitions.append("t", 0, bytearray(world.batch(b"after")))
    assert leader.partitions.get_led("t", 0) is leader.partitions.get("t", 0)
    assert leader.partitions.get("t", 0).log_end_offset == 2


# --- coordinators that move ------------------------------------------------------------------------------------------


async def test_a_group_goes_on_at_its_new_coordinator(world: BrokerWorld) -> None:
    group = kept_at(0)
    old = (await coordinator_of(world, group, 0)).node_id
    assert await committed(world, old, group) == E.NONE
    new = old % 3 + 1
    number = world.services.groups.offsets_partition(group)
    await leader_to(world, OFFSETS, number, new)
    assert (await coordinator_of(world, group, 0)).node_id == new
    assert await fetched_offset(world, old, group) == (E.NOT_COORDINATOR, None)
    assert await fetched_offset(world, new, group) == (E.NONE, 7)


async def test_members_that_wait_are_sent_to_the_new_coordinator(world: BrokerWorld) -> None:
    group = kept_at(0)
    old = (await coordinator_of(world, group, 0)).node_id
    peer = world.connect_to(old)
    await peer.put(join_group(group), 3)
    assert peer.answers() == []
    await leader_to(world, OFFSETS, world.services.groups.offsets_partition(group), old % 3 + 1)
    assert peer.answer().error_code == E.NOT_COORDINATOR


async def test_a_transaction_is_ended_by_the_coordinator_it_moved_to(world: BrokerWorld) -> None:
    name = kept_at(1)
    old = (await coordinator_of(world, name, 1)).node_id
    init = await ask(world, old, init_producer(name))
    await switch(world, old, "true", asked=old % 3 + 1)
    others = [node for node in (1, 2, 3) if node != old]
    found = (await coordinator_of(world, name, 1, asked=others[0])).node_id
    assert found in others
    (leader,) = [each.leader_id for each in await metadata(world, others[0]) if each.partition_index == 2]
    producer = init.producer_id, init.producer_epoch
    batch = world.batch(b"v", producer=(*producer, 0), transactional=True)
    answer = await ask(world, leader, produce({2: batch}, transactional_id=name), BY_NAME)
    assert answer.responses[0].partition_responses[0].error_code == E.NONE
    assert (await ask(world, found, end_txn(name, producer))).error_code == E.NONE
    await settle()
    read = await fetched(world, leader, 2)
    assert (read.high_watermark, read.last_stable_offset) == (2, 2), "the record and its marker"
