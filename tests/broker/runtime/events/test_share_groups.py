"""Stories of share groups: records acquired, acknowledged, released, and archived."""

from collections.abc import Mapping
from typing import Any

from barnabas.broker.partitions.share.persister import DeliveryState, SharePartitionKey, ShareStateUpdate, StateBatch
from barnabas.broker.runtime.events.cause import RequestCause, TimerCause
from barnabas.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from barnabas.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from barnabas.protocol.primitives import uuid_text
from tests.support.worlds.share_world import ShareWorld
from tests.support.worlds.story import Stories
from tests.support.worlds.told import Told

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
STORIES = Stories()


def told_of(told: Told, name: str) -> list[dict[str, Any]]:
    """The facts of the events of share groups of this kind, without those that are the same in all."""
    found = [dict(event.facts) for event in told.of(f"share.{name}")]
    assert {(each.pop("group"), each.pop("topic"), each.pop("partition")) for each in found} <= {("g", "t", 0)}
    return found


def story(settings: Mapping[str, str] | None = None) -> tuple[ShareWorld, Told]:
    """A broker with four records, and the listener of its events."""
    world = ShareWorld()
    for name, value in (settings or {}).items():
        world.configure(name, value)
    world.append("t", b"a", b"b")
    world.append("t", b"c", b"d")
    return world, Told(world.broker.events)


async def records_are_acknowledged() -> Told:
    world, told = story()
    member = world.member()
    await member.fetch()
    ranges = {"ranges": ["0-3"], "records_count": 4}
    assert told_of(told, "acquired") == [{**ranges, "member_id": "m", "delivery_count": 1, "lock_ms": 30_000}]
    cause = told.only("share.acquired").cause
    assert isinstance(cause, RequestCause)
    assert cause.api == "ShareFetch"
    await member.acknowledge((0, 3, [ACCEPT, REJECT, ACCEPT, RENEW]), is_renew_ack=True)
    assert told_of(told, "acknowledged") == [
        {"ranges": ["0-0", "2-2"], "records_count": 2, "member_id": "m", "type": "accept"},
        {"ranges": ["1-1"], "records_count": 1, "member_id": "m", "type": "reject"},
        {"ranges": ["3-3"], "records_count": 1, "member_id": "m", "type": "renew"},
    ]
    (stored, *_) = told.of("share.acknowledged")
    assert isinstance(stored.cause, RequestCause)
    assert stored.cause.api == "ShareAcknowledge"
    assert told_of(told, "archived") == [
        {"ranges": ["1-1"], "records_count": 1, "why": "rejected by a member"},
    ]
    await world.close()
    return told


async def a_session_ends_and_a_lock_ends() -> Told:
    world, told = story()
    first, second = world.member("first"), world.member("second")
    await first.fetch(max_records=2)
    await second.fetch()
    await first.acknowledge(epoch=-1)
    assert told_of(told, "released") == [{"ranges": ["0-1"], "records_count": 2, "member_id": "first"}]
    await world.advance(30_000)
    assert told_of(told, "lock_ended") == [{"ranges": ["2-3"], "records_count": 2, "member_id": "second"}]
    cause = told.only("share.lock_ended").cause
    assert isinstance(cause, TimerCause)
    assert cause.facts() == {"timer": "acquisition lock"}
    assert told_of(told, "archived") == []
    await world.close()
    return told


async def records_fail_as_often_as_they_may() -> Told:
    world, told = story({"share.delivery.count.limit": "2"})
    member, other = world.member(), world.member("other")
    await other.fetch()
    await other.acknowledge(epoch=-1)
    await member.fetch()
    await member.acknowledge((1, 2, [RELEASE]))
    await world.advance(30_000)
    last = {"why": "delivered as often as the group allows"}
    assert told_of(told, "archived") == [
        {"ranges": ["1-2"], "records_count": 2, **last},
        {"ranges": ["0-0", "3-3"], "records_count": 2, **last},
    ]
    assert [each["delivery_count"] for each in told_of(told, "acquired")] == [1, 2]
    await world.close()
    return told


async def dead_letters_are_written_and_lost() -> Told:
    world, told = story({"errors.deadletterqueue.topic.name": "dlq.jobs"})
    member = world.member()
    await member.fetch()
    await member.acknowledge((3, 3, [REJECT]))
    await world.settle()
    (lost,) = told_of(told, "dead_letters_lost")
    assert (lost["ranges"], lost["records_count"], lost["dead_letter_topic"]) == (["3-3"], 1, "dlq.jobs")
    assert lost["why"].startswith("the topic does not exist")
    world.services.catalogue.create_topic("dlq.jobs", 1, {"errors.deadletterqueue.group.enable": "true"})
    world.append("dlq.jobs", b"another")
    await member.acknowledge((0, 2, [REJECT, ACCEPT, REJECT]))
    await world.settle()
    letters = {
        "ranges": ["0-0", "2-2"],
        "records_count": 2,
        "dead_letter_topic": "dlq.jobs",
        "dead_letter_partition": 0,
    }
    assert told_of(told, "dead_letters_writing") == [letters]
    assert told_of(told, "dead_letters_written") == [{**letters, "dead_letter_offset": 1}]
    await world.close()
    return told


async def offsets_are_reset_and_deleted() -> Told:
    world = ShareWorld({"share.coordinator.state.topic.num.partitions": "1"}, partitions=2, in_memory=False)
    told, peer = Told(world.broker.events), world.connect()
    offsets = [
        AlterShareGroupOffsetsRequestPartition(partition_index=each, start_offset=7 + each) for each in (0, 1, 2)
    ]
    altered = [AlterShareGroupOffsetsRequestTopic(topic_name="t", partitions=offsets)]
    answer = await peer.answer_to(AlterShareGroupOffsetsRequest(group_id="g", topics=altered))
    assert [each.error_code for each in answer.responses[0].partitions] == [0, 0, 3]
    deleted = [DeleteShareGroupOffsetsRequestTopic(topic_name="t")]
    answer = await peer.answer_to(DeleteShareGroupOffsetsRequest(group_id="g", topics=deleted))
    assert [each.error_code for each in answer.responses] == [0]
    resets = told.of("share.reset")
    assert [(each.facts["partition"], each.facts["start_offset"]) for each in resets] == [
        (0, 7),
        (1, 8),
        (0, None),
        (1, None),
    ]
    assert {(each.facts["group"], each.facts["topic"]) for each in resets} == {("g", "t")}
    causes = [each.cause for each in resets]
    assert [each.api for each in causes if isinstance(each, RequestCause)] == [
        *("AlterShareGroupOffsets", "AlterShareGroupOffsets"),
        *("DeleteShareGroupOffsets", "DeleteShareGroupOffsets"),
    ]
    await world.close()
    return told


async def states_are_stored() -> Told:
    world = ShareWorld({"share.coordinator.state.topic.num.partitions": "1"}, in_memory=False)
    told = Told(world.broker.events)
    topic_id, persister = world.topic_id, world.services.persister
    key = SharePartitionKey("g", topic_id, 0)
    await persister.initialize(key, 1, 0)
    ranges = [(0, 0, DeliveryState.ARCHIVED), (1, 1, DeliveryState.AVAILABLE), (2, 2, DeliveryState.ARCHIVED)]
    await persister.write(key, ShareStateUpdate(1, 0, 0, 0, [StateBatch(*each, 1) for each in ranges]))
    for step in ("writing", "written"):
        states = [each["delivery_states"] for each in told_of(told, f"record_{step}")]
        assert states == [[], ["available", "archived"]]
    await persister.write(key, ShareStateUpdate(1, 0, 0, 0, []))
    world.services.catalogue.delete_topics(["t"])
    await world.settle()
    (*_, deletion) = told.of("share.record_written")
    assert (deletion.facts["topic"], deletion.facts["delivery_states"]) == (uuid_text(topic_id), [])
    await world.close()
    return told


STORIES += [dead_letters_are_written_and_lost, states_are_stored, offsets_are_reset_and_deleted]
STORIES += [records_are_acknowledged, a_session_ends_and_a_lock_ends, records_fail_as_often_as_they_may]


async def test_a_session_that_ends_at_the_last_delivery_archives_what_it_held() -> None:
    world, told = story({"share.delivery.count.limit": "2"})
    for name in ("first", "second"):
        member = world.member(name)
        await member.fetch()
        await member.acknowledge(epoch=-1)
    assert [each["ranges"] for each in told_of(told, "archived")] == [["0-3"]]
    assert [each["ranges"] for each in told_of(told, "released")] == [["0-3"], ["0-3"]]


async def test_only_what_was_released_is_archived_for_the_limit() -> None:
    world, told = story({"share.delivery.count.limit": "2"})
    member = world.member()
    await member.fetch()
    await member.acknowledge((0, 3, [RELEASE]))
    await member.fetch()
    await member.acknowledge((0, 3, [RELEASE, REJECT, ACCEPT, RELEASE]))
    assert {each["why"]: each["ranges"] for each in told_of(told, "archived")} == {
        "rejected by a member": ["1-1"],
        "delivered as often as the group allows": ["0-0", "3-3"],
    }
