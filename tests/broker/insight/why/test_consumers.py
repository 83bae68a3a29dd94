"""Why a consumer gets nothing: each cause is brought about in a broker in memory, and told."""

import errno
from typing import Any

import pytest

from barnabas.broker.coordinator.group.decisions.classic.model import CommitRequest, OffsetToCommit
from barnabas.broker.coordinator.runtime.outcome import TransactionProducer as CommittingProducer
from barnabas.broker.coordinator.transaction.decisions.model import AddRequest
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.broker.metadata.cluster.test_moving import switch
from tests.broker.metadata.cluster.test_partitions_nobody_leads import NAME
from tests.broker.metadata.cluster.test_partitions_nobody_leads import begun as begun_on_nodes
from tests.broker.metadata.cluster.test_partitions_nobody_leads import commit as commit_on_nodes
from tests.broker.metadata.cluster.test_three_nodes import coordinator_of, create
from tests.support.files.memory_files import MemoryFiles
from tests.support.inspected_broker import Inspected, now
from tests.support.why import Asked
from tests.support.worlds.broker import BrokerWorld, Peer
from tests.support.worlds.full_disk import FullDisk
from tests.support.worlds.transactional_broker import TransactionalBroker


async def heartbeat(world: BrokerWorld, group: str, *topics: str, peer: Peer | None = None) -> None:
    """A member of the consumer protocol that subscribes to these topics."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=list(topics),
        topic_partitions=[],
    )
    peer = peer or world.connect()
    await peer.put(request)
    assert peer.answer().error_code == ErrorCode.NONE


async def test_a_group_or_a_topic_that_there_is_not(world: Inspected, asked: Asked) -> None:
    assert str(await asked.consumer("g")) == ("There is no group g: it has no members, and no committed offsets.")
    assert str(await asked.consumer("g", "u")) == "There is no topic u."
    assert "__consumer_offsets" not in world.services.catalogue.topics, "asking changes nothing"


async def test_an_open_transaction_is_reported_with_what_ends_it(world: Inspected, asked: Asked) -> None:
    world.append("t", b"a", b"b")
    await world.commit("g", "t", 1)
    await world.begin("tx", ("t", 0))
    world.append("t", b"c")
    world.clock.advance(12_000)
    answer = await asked.consumer("g", "t")
    assert list(answer.sentences) == [
        "t-0: consumers with isolation.level=read_committed stop at offset 2, the last stable offset; "
        "the log ends at 4.",
        "They are held by transactional id tx (producer 0, epoch 0), begun 12 s ago.",
        "It ends when its producer sends EndTxn, or by its timeout in 9 min 48 s (at 2023-11-14T22:23:20.000Z); "
        "`barnabas txn abort tx` ends it now.",
        "The group's lag of 3 is 1 record that can be read now, 1 record of open transactions and "
        "1 record after the last stable offset.",
        "Group g has no members: no consumer reads for it, except with assign().",
    ]
    facts: Any = answer.evidence["partitions"][0]
    assert (facts["lag"], facts["lag_read_committed"]) == (3, 1)
    assert facts["holder"]["time_left_ms"] == 588_000


async def test_a_transaction_whose_time_is_over_and_one_without_a_timeout() -> None:
    world = TransactionalBroker({"transaction.two.phase.commit.enable": "true"})
    producer = await world.producer(timeout_ms=1_000)
    await producer.send(b"v")
    world.broker.clock.advance(2_000)
    await now(commit(world, "g", 0))
    asked = Asked(world.broker.services)
    assert "Its timeout passed 1 s ago: the next check of timeouts aborts it" in str(await asked.consumer("g"))
    await world.advance(10_000)
    assert "not over" not in str(await asked.consumer("g")), "it was aborted"
    kept = await world.init("forever", enable_2pc=True)
    assert kept.error is ErrorCode.NONE
    batch = world.broker.batch(b"x", producer=(kept.producer_id, kept.producer_epoch, 0), transactional=True)
    add = AddRequest("forever", kept.producer_id, kept.producer_epoch, frozenset({("t", 0)}), 2)
    await now(world.coordinator.add_partitions(add))
    world.broker.services.partitions.append("t", 0, bytearray(batch))
    assert "it has no timeout (two-phase commit)" in str(await asked.consumer("g"))
    await world.until(world.close())


def commit(world: TransactionalBroker, group: str, offset: int, producer: CommittingProducer | None = None) -> Any:
    """What a group commits for t-0, in a transaction or not."""
    services = world.broker.services
    wanted = (OffsetToCommit("t", services.catalogue.topics["t"].topic_id, 0, offset, -1, ""),)
    request = CommitRequest(group, -1, "", None, wanted)
    missing = ErrorCode.GROUP_ID_NOT_FOUND
    if producer is None:
        return services.groups.commit_offsets(request, missing_group=missing)
    return services.groups.commit_offsets_in_transaction(request, producer, missing_group=missing)


async def test_a_transaction_that_no_coordinator_knows_hangs(world: Inspected, asked: Asked) -> None:
    world.append("t", b"lost", producer=(4_711, 0, 0), transactional=True)
    await world.commit("g", "t", 0)
    answer = str(await asked.consumer("g"))
    assert "They are held by producer 4711." in answer
    assert "No transactional id has this producer, so no producer will end it: it hangs." in answer
    assert "`barnabas txn abort --partition t:0 --start-offset 0` writes the marker by force." in answer


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        (errno.ENOSPC, "its disk is full; when there is room again, it continues by itself"),
        (errno.EIO, "KAFKA_STORAGE_ERROR"),
    ],
)
async def test_a_decided_transaction_whose_marker_a_disk_refuses(failure: int, why: str) -> None:
    world = TransactionalBroker()
    await world.broker.broker.start()
    producer = await world.producer()
    for partition in (0, 1):
        await producer.send(b"v", partition)
    await now(commit(world, "g", 0))
    world.files.fail("pwrite", failure, path="/t-1/")
    await producer.end(commit=True)
    await world.advance(2_000)
    answer = await Asked(world.broker.services).consumer("g", "t")
    assert "Its commit is decided, and 1 partition did not accept the marker yet" in str(answer)
    assert any(each.startswith("t-1: ") and why in each for each in answer.sentences), str(answer)
    world.files.heal()
    await world.advance(20_000)
    assert "decided" not in str(await Asked(world.broker.services).consumer("g", "t"))
    await world.until(world.close())


async def test_a_partition_without_a_leader_and_a_commit_that_waits_for_it() -> None:
    world = BrokerWorld(nodes=3)
    await create(world, "t", assignments=[[1], [3]])
    producer = await begun_on_nodes(world)
    await switch(world, 3, "true")
    await commit_on_nodes(world, producer)
    coordinator = (await coordinator_of(world, NAME, 0)).node_id
    await heartbeat(world, NAME, "t", peer=world.connect_to(coordinator))
    asked = Asked(world.services)
    answer = str(await asked.consumer(NAME, "t"))
    assert (
        "t-1 cannot be read: no node leads it, since node 3 is stopped; `barnabas nodes start 3` starts one." in answer
    )
    told = str(await asked.producer(NAME))
    assert "Its commit is decided, and 1 partition did not accept the marker yet" in told
    assert "t-1: no node leads it, since node 3 is stopped" in told


async def test_markers_and_aborted_records_are_all_that_is_left(world: Inspected, asked: Asked) -> None:
    mine = await world.begin("tx", ("t", 0))
    await world.end("tx", mine, is_commit=False)
    await world.commit("g", "t", 0)
    answer = str(await asked.consumer("g", "t"))
    assert (
        "t-0: the group's position is 0, and its lag is 2, but there is nothing left to read: "
        "1 aborted record and 1 transaction marker. A consumer that reads on gets past it."
    ) in answer


async def test_readable_records_are_not_a_cause_and_a_caught_up_consumer_has_none(
    world: Inspected, asked: Asked
) -> None:
    await heartbeat(world, "g", "t")
    world.append("t", b"a", b"b")
    answer = str(await asked.consumer("g", "t"))
    assert "t-0: nothing is committed, and its lag is 2." in answer
    assert "Member m can read them now: nothing in the broker holds them back." in answer
    await world.commit("other", "t", 2, 0)
    assert "Group other has no members" in str(await asked.consumer("other"))


async def test_a_position_outside_of_the_log(world: Inspected, asked: Asked) -> None:
    world.append("t", b"a", b"b", b"c")
    await world.commit("g", "t", 9)
    await world.commit("h", "t", 0)
    world.services.partitions.delete_records_before("t", 0, 2)
    assert "t-0: the group's position is 9, and the log has 2 to 3." in str(await asked.consumer("g"))
    answer = str(await asked.consumer("h"))
    assert "t-0: the group's position is 0, and the log has 2 to 3." in answer
    assert "its auto.offset.reset decides where it continues" in answer


async def test_a_position_that_is_committed_in_an_open_transaction() -> None:
    world = TransactionalBroker({"offsets.topic.num.partitions": "1"})
    producer = await world.producer()
    world.broker.services.groups.prepare("g")
    assert await world.add(producer, ("__consumer_offsets", 0), version=2) is ErrorCode.NONE
    await now(commit(world, "g", 0, CommittingProducer(producer.id, producer.epoch)))
    answer = str(await Asked(world.broker.services).consumer("g"))
    assert "t-0: the group's position is being committed in an open transaction" in answer
    assert f"The transaction is that of transactional id tx (producer {producer.id}, epoch {producer.epoch})" in answer
    assert "`barnabas txn abort tx` ends it now" in answer
    await world.until(world.close())


async def test_a_topic_that_no_member_subscribes_to_and_one_that_is_not_there(world: Inspected, asked: Asked) -> None:
    world.services.catalogue.create_topic("u", 1)
    await heartbeat(world, "g", "u", "nowhere")
    answer = str(await asked.consumer("g", "t"))
    assert "No member of group g subscribes to topic t: they subscribe to nowhere and u." in answer
    assert "Group g subscribes to topic nowhere, and there is no such topic." in str(await asked.consumer("g"))


async def test_a_group_whose_coordinator_cannot_read_its_log() -> None:
    files = MemoryFiles(0)
    world = Inspected(files, topics={"t": 1})
    world.append("t", b"a")
    await world.commit("g", "t", 0)
    await world.close()
    files.fail("pread", errno.EIO, path="__consumer_offsets")
    again = Inspected(files)
    answer = str(await Asked(again.services).consumer("g"))
    assert answer.startswith("The coordinator of group g is not available: "), answer
    files.heal()


async def test_a_full_disk_is_reported_beside_what_is_left_to_read() -> None:
    disk = await FullDisk().start()
    await disk.create("t")
    await disk.fill("t")
    services = disk.world.services
    await heartbeat(disk.world, "g", "t")
    answer = str(await Asked(services).consumer("g"))
    assert "The data directory /data is full: producers cannot write to it." in answer
    await disk.world.close()


async def test_many_partitions_are_looked_at_in_passing_and_the_worst_looked_into(
    world: Inspected, asked: Asked
) -> None:
    world.services.catalogue.create_topic("many", 300)
    mine = await world.begin("tx", ("many", 250))
    assert mine.error is ErrorCode.NONE
    await world.commit("g", "many", *[0] * 300)
    answer = await asked.consumer("g")
    assert answer.sentences[0].startswith("many-250: consumers with isolation.level=read_committed stop at offset 0")
    assert answer.sentences[-1] == "200 partitions of it were not examined."
