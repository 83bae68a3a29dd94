"""Every kind of event is told: stories on a whole broker, each of which tells some, and together all of them."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.broker.api.stages.tracing import Tracer
from barnabas.broker.runtime.events import KINDS
from barnabas.broker.runtime.events.cause import RequestCause
from barnabas.broker.runtime.events.kinds import FAULT_CHANGED, FAULT_FIRED
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from barnabas.protocol.records.builder import build_batch
from tests.broker.runtime.events import test_refusals, test_security, test_share_groups
from tests.support.requests import BY_NAME, commit, end_txn, produce
from tests.support.worlds.broker import BrokerWorld, settle, until
from tests.support.worlds.story import MINUTE_MS, WEEK_MS, Stories, Story
from tests.support.worlds.told import Told

OWN = Stories()
SYNCED = {"log.flush.interval.messages": "1"}


@OWN.about()
async def a_transaction_is_committed(story: Story) -> None:
    story.world.services.catalogue.create_internal_topic("__consumer_offsets")
    producer = await story.init()
    await story.add(producer, ("t", [0, 2]), ("u", [0]))
    group = AddOffsetsToTxnRequest(
        transactional_id="x", producer_id=producer.producer_id, producer_epoch=producer.producer_epoch, group_id="g"
    )
    await story.client.ask(group, 3)
    assert await story.end(producer) is ErrorCode.NONE
    await settle()
    story.world.clock.advance(1_000)  # the partition of the group's offsets was still to be loaded
    await settle()
    told = story.told
    assert told.only("transaction.begun").facts["transactional_id"] == "x"
    added = told.only("transaction.partitions_added").facts
    assert (added["partitions"], added["partitions_count"]) == (["t-0", "t-2", "u-0"], 3)
    assert told.only("transaction.group_added").facts["group"] == "g"
    prepared = told.only("transaction.prepared")
    assert prepared.facts["is_commit"]
    assert prepared.facts["partitions_count"] == 4
    cause = prepared.cause
    assert isinstance(cause, RequestCause)
    assert (cause.api, cause.client_id, cause.request_fields["committed"]) == ("EndTxn", "test", True)
    markers = [event.facts for event in told.of("transaction.marker_written")]
    assert sorted(each["position"] for each in markers) == [1, 2, 3, 4]
    assert {(each["topic"], each["partition"]) for each in markers} >= {("t", 0), ("t", 2), ("u", 0)}
    late = [event for event in told.events if event.name.startswith(("transaction.mark", "transaction.completed"))]
    assert len(late) == 4 + 4 + 1 + 1
    assert all(event.cause == prepared.cause for event in late), "however late they come"
    assert told.of("transaction.record_written")[-1].cause == prepared.cause
    assert told.names.index("transaction.marked") > told.names.index("transaction.marker_written")
    assert told.names.index("transaction.marked") < told.names.index("transaction.completed")
    states = [event.facts["state"] for event in told.of("transaction.record_written")]
    assert states == ["Empty", "Ongoing", "Ongoing", "PrepareCommit", "CompleteCommit"]
    assert len(told.of("transaction.record_writing")) == len(states)
    answered = [event.facts["api"] for event in told.of("request.answered")]
    assert answered == ["InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn"]


@OWN.about()
async def a_producer_is_fenced_by_another_one(story: Story) -> None:
    first = await story.init()
    await story.add(first, ("t", [0]))
    assert (await story.init()).error_code == ErrorCode.CONCURRENT_TRANSACTIONS  # the open one is aborted first
    await settle()
    second = await story.init()
    assert await story.end(first) in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
    told = story.told
    fenced = told.of("producer.fenced")[0]
    assert (fenced.facts["producer_epoch"], fenced.facts["why"]) == (first.producer_epoch, "another producer begins")
    assert isinstance(fenced.cause, RequestCause)
    assert fenced.cause.api == "InitProducerId"
    given = told.of("producer.id_given")[-1].facts
    assert (given["producer_epoch"], given["transactional_id"]) == (second.producer_epoch, "x")
    refused = told.of("transaction.refused")[-1].facts
    assert refused["error"] == "PRODUCER_FENCED"
    assert refused["why"] == f"it has producer epoch 0, but the transactional id has {second.producer_epoch} now"
    batch = story.world.batch(b"v", producer=(first.producer_id, first.producer_epoch, 0), transactional=True)
    await story.client.ask(produce(batch, transactional_id="x"), 9)
    late = told.only("producer.refused")
    assert (late.facts["topic"], late.facts["producer_epoch"]) == ("t", first.producer_epoch)
    assert isinstance(late.cause, RequestCause)
    assert late.cause.request_fields == {"transactional_id": "x"}
    await story.init(None)
    assert told.of("producer.id_given")[-1].facts["transactional_id"] is None


@OWN.about()
async def a_transaction_times_out_and_its_id_expires(story: Story) -> None:
    producer = await story.init(transaction_timeout_ms=1_000)
    await story.add(producer, ("t", [0]))
    await story.world.advance(20_000)
    told = story.told
    facts = told.only("transaction.timed_out").facts
    assert (facts["timeout_ms"], facts["transactional_id"]) == (1_000, "x")
    assert facts["open_for_ms"] > 1_000
    assert told.only("producer.fenced").facts["why"] == "its transaction was open for too long"
    assert told.only("transaction.completed").facts["is_commit"] is False
    await story.world.advance(WEEK_MS)
    assert told.only("transaction.id_expired").facts["transactional_id"] == "x"


@OWN.about()
async def a_partition_of_a_transaction_is_deleted(story: Story) -> None:
    producer = await story.init()
    await story.add(producer, ("t", [0]), ("u", [0]))
    story.world.services.catalogue.delete_topics(["u"])
    await story.end(producer)
    await settle()
    refused = story.told.only("transaction.marker_refused").facts
    assert (refused["topic"], refused["is_tried_again"]) == ("u", False)
    assert story.told.only("topic.deleted").facts["topic"] == "u"


@OWN.about()
async def a_classic_group_lives(story: Story) -> None:
    joined = await story.join("")
    await story.sync(joined)
    again = await story.join(joined.member_id)
    assert again.generation_id == joined.generation_id + 1
    await story.client.ask(commit("free", 7), 8)
    gone = [OffsetDeleteRequestTopic(name="t", partitions=[OffsetDeleteRequestPartition(partition_index=0)])]
    await story.client.ask(OffsetDeleteRequest(group_id="free", topics=gone), 0)
    leaving = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=joined.member_id)])
    await story.client.ask(leaving, 3)
    told = story.told
    assert told.only("group.member_joined").facts["group"] == "g"
    begun = told.of("group.rebalance_begun")
    assert begun[0].facts["why"] == f"member {joined.member_id} joined"
    assert "JoinGroup" in begun[1].facts["why"]
    assert [event.facts["generation"] for event in told.of("group.generation_formed")] == [1, 2]
    assert told.only("group.assignment_made").facts["members_count"] == 1
    assert told.only("group.offsets_committed").facts["offsets"] == ["t-0:7"]
    assert told.only("group.offsets_deleted").facts["offsets"] == ["t-0"]
    assert told.only("group.member_left").facts["member_id"] == joined.member_id
    assert told.of("group.rebalance_completed")[-1].facts["members_count"] == 0
    assert told.of("group.record_written")
    await story.client.ask(HeartbeatRequest(group_id="g", member_id="nobody", generation_id=1), 4)
    assert told.of("request.answered")[-1].facts["error"] == "UNKNOWN_MEMBER_ID"


@OWN.about()
async def a_member_is_not_heard_of(story: Story) -> None:
    await story.sync(await story.join("", session_timeout_ms=6_000))
    await story.world.advance(7_000)
    expired = story.told.only("group.session_expired").facts
    assert (expired["group"], expired["session_timeout_ms"]) == ("g", 6_000)
    assert not story.told.of("group.member_left")


@OWN.about()
async def a_consumer_group_lives(story: Story) -> None:
    first = await story.consumer_heartbeat(0)
    told = story.told
    assert told.only("group.member_joined").facts["member_id"] == "m"
    assert told.only("group.rebalance_begun").facts["why"] == "member m joined"
    assert told.only("group.assignment_made").facts["generation"] == first.member_epoch
    assert told.only("group.rebalance_completed").facts["protocol"] == "consumer"
    await story.consumer_heartbeat(-1)
    assert told.only("group.member_left").facts["why"] == "it left"
    await story.consumer_heartbeat(0, "n")
    await story.world.advance(50_000)
    assert told.only("group.session_expired").facts["member_id"] == "n"
    assert told.of("group.rebalance_completed")[-1].facts["members_count"] == 0


@OWN.about(SYNCED, helper_processes_max=0)
async def logs_are_written_and_tidied_up(story: Story) -> None:
    world = story.world
    await world.broker.start()
    await world.services.partitions.synced_anyway("t", 0)
    configs = {"segment.ms": "10", "retention.ms": "1000"}
    world.services.catalogue.create_topic("short", 1, configs)
    compacted = {"cleanup.policy": "compact", "segment.ms": "10", "min.cleanable.dirty.ratio": "0.01"}
    world.services.catalogue.create_topic("kept", 1, compacted)
    for topic in ("short", "kept"):
        for _ in range(4):
            world.clock.advance(20)
            world.services.partitions.append(topic, 0, bytearray(_keyed(world)))
        await world.services.partitions.synced_anyway(topic, 0)
    world.services.cleaner.start()
    await until(lambda: story.told.of("log.cleaned"))
    world.clock.advance(MINUTE_MS)
    await until(lambda: story.told.of("log.segment_deleted"))
    told = story.told
    assert {event.facts["topic"] for event in told.of("topic.created")} == {"short", "kept"}
    assert told.names.index("topic.creating") < told.names.index("topic.created")
    rolled = [event.facts for event in told.of("log.segment_rolled") if event.facts["topic"] == "short"]
    assert [each["base_offset"] for each in rolled[:3]] == [1, 2, 3]
    assert told.of("log.segment_rolling")[0].facts["base_offset"] == 0
    assert len(told.of("log.flush_begun")) >= len(told.of("log.flush_ended")) > 0
    cleaned = told.of("log.cleaned")[0].facts
    assert cleaned["bytes_after"] < cleaned["bytes_before"]


def _keyed(world: BrokerWorld) -> bytes:
    return bytes(build_batch([(b"key", b"value", (), world.clock.now_ms())]))


@OWN.about(nodes=3)
async def nodes_stop_and_start(story: Story) -> None:
    together = story.world.broker.shared_storage
    assert together is not None
    nodes = together.nodes
    leader = nodes.of("u", 0).leader
    other = next(node for node in nodes.brokers if node != leader)
    nodes.on_stopped = lambda node: None
    nodes.on_starting = lambda node: None
    nodes.lead(("u", 0), other)
    nodes.have_stopped(lambda _: {other})
    nodes.have_stopped(lambda _: set())
    told = story.told
    moved = [event.facts for event in told.of("cluster.leader_moved") if event.facts["topic"] == "u"]
    assert (moved[0]["was"], moved[0]["now"]) == (leader, other)
    assert told.only("cluster.node_stopped").facts == told.only("cluster.node_started").facts == {"node": other}


@OWN.about(movable=True)
async def the_clock_is_moved(story: Story) -> None:
    clock = story.world.broker.time_control.get()
    clock.freeze()
    await clock.advance(1_000)
    clock.run()
    assert [event.facts["state"] for event in story.told.of("clock.changed")] == ["frozen", "frozen", "running"]


@OWN.about()
async def connections_come_and_go(story: Story) -> None:
    story.client.peer.transport.send(b"\xff\xff\xff\xff")
    await settle()
    told = story.told
    closed, *others = (told.only(f"connection.{name}").facts for name in ("closed", "opened", "ended"))
    assert closed["reason"] == "a frame of -1 bytes"
    assert {each["peer"] for each in others} == {closed["peer"]}


STORIES = [*OWN, *test_refusals.STORIES, *test_security.STORIES, *test_share_groups.STORIES]
_TOLD_ELSEWHERE = {FAULT_CHANGED.name, FAULT_FIRED.name}
"""In tests/broker/control/faults."""


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
async def test_a_story_is_reported(story: Callable[[], Awaitable[Told]]) -> None:
    assert (await story()).names


async def test_every_kind_is_reported_by_some_story() -> None:
    seen = {name for story in STORIES for name in (await story()).names}
    assert set(KINDS) - seen == _TOLD_ELSEWHERE


async def test_requests_that_clients_repeat_are_informed_where_somebody_follows_all_requests() -> None:
    story = Story()
    await story.client.ask(MetadataRequest(topics=[]), 12)
    assert not story.told.of("request.answered")
    everything = Told(story.world.broker.events, all_requests=True)
    await story.client.ask(MetadataRequest(topics=[]), 12)
    await story.client.ask(produce(story.world.batch(b"value")), 9)
    assert [event.facts["api"] for event in everything.of("request.answered")] == ["Metadata", "Produce"]
    everything.stop()
    await story.client.ask(MetadataRequest(topics=[]), 12)
    assert len(everything.of("request.answered")) == len(story.told.of("request.answered")) == 2


# --- transactions that a Produce begins -------------------------------------------------------------------------------

BEGINS = ("transaction.record_writing", "transaction.begun", "transaction.partitions_added")


async def write(story: Story, producer_id: int, epoch: int) -> None:
    batch = story.world.batch(b"v", producer=(producer_id, epoch, 0), transactional=True)
    await story.client.ask(produce(batch, transactional_id="x"), BY_NAME)


@pytest.mark.pure  # that the short path was taken is seen by replacing a method
async def test_the_cause_of_a_transaction_is_the_produce_that_began_it(monkeypatch: pytest.MonkeyPatch) -> None:
    by_general_path = []
    caused = Tracer._caused

    def counted(self: Tracer, *args: Any) -> Any:
        by_general_path.append(args)
        return caused(self, *args)

    monkeypatch.setattr(Tracer, "_caused", counted)
    story = Story()
    producer = await story.init()
    for bumps in (0, 1):
        before = len(story.told.events)
        await write(story, producer.producer_id, producer.producer_epoch + bumps)
        told = story.told.events[before:]
        assert [event.name for event in told if event.name in BEGINS] == list(BEGINS)
        for event in told:
            assert isinstance(event.cause, RequestCause)
            assert (event.cause.api, event.cause.version, event.cause.client_id) == ("Produce", 12, "test")
            assert event.cause.request_fields == {"transactional_id": "x"}
        assert story.world.broker.events.cause is None
        await story.client.ask(end_txn("x", (producer.producer_id, producer.producer_epoch + bumps)), 5)
    assert len(story.told.of("transaction.completed")) == 2
    assert len(by_general_path) == 1


async def test_a_refused_produce_is_reported_once() -> None:
    story = Story()
    producer = await story.init()
    await write(story, producer.producer_id, producer.producer_epoch)
    await story.client.ask(end_txn("x", (producer.producer_id, producer.producer_epoch)), 5)
    await write(story, 99, 0)
    assert story.told.only("transaction.refused").facts["error"] == "INVALID_PRODUCER_ID_MAPPING"
    assert story.told.only("producer.refused").facts["producer_id"] == 99
    assert story.world.broker.events.cause is None
