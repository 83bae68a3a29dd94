"""ShareFetch and ShareAcknowledge over real logs, with states in memory: what Apache Kafka 4.4.0 was seen to do."""

from typing import Any

import pytest

from barnabas.broker.config.resources.share_groups import ShareGroupSettings
from barnabas.broker.partitions.share.persister import NOT_STARTED, SharePartitionKey
from barnabas.broker.security.session.operations import Operation, Resource
from barnabas.broker.services import RequestContext
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.share_acknowledge import AcknowledgePartition, AcknowledgeTopic
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.control import EndTxnMarker
from tests.support.worlds.broker import settle
from tests.support.worlds.share_world import ShareMember, ShareWorld, acquired

E = ErrorCode
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


def partition_of(answer: Any) -> Any:
    """The only partition of an answer."""
    assert answer.error_code == E.NONE, answer.error_message
    (topic,) = answer.responses
    (partition,) = topic.partitions
    return partition


def bases(answer: Any) -> list[int]:
    return [header.base_offset for _, header in iter_batches(partition_of(answer).records)]


async def holding() -> tuple[ShareWorld, ShareMember]:
    """A broker with one record, and a member that has fetched it."""
    world = ShareWorld()
    world.append("t", b"a")
    member = world.member()
    await member.fetch()
    return world, member


async def test_records_are_delivered_acknowledged_and_then_gone() -> None:
    world = ShareWorld()
    for _ in range(3):
        world.append("t", b"a", b"b")
    member = world.member()
    answer = await member.fetch()
    assert (acquired(answer), bases(answer), answer.acquisition_lock_timeout_ms) == ([(0, 5, 1)], [0, 2, 4], 30_000)
    answer = await member.acknowledge((0, 5, [1, 1, 2, 2, 3, 0]))
    assert (partition_of(answer).error_code, answer.acquisition_lock_timeout_ms) == (E.NONE, 30_000)
    answer = await member.fetch()
    assert (acquired(answer), bases(answer)) == ([(2, 3, 2)], [2])
    assert (
        await member.fetch(acks=((2, 3, [ACCEPT]),), topics=member.request(0, acks=((2, 3, [1]),)).topics)
    ).error_code == 0
    assert await member.acquire() == []
    assert [update.start_offset for update in world.persister.updates] == [0, 2]


async def test_an_acknowledgement_is_answered_once_it_is_stored() -> None:
    world, member = await holding()
    other = world.member("other")
    world.persister.held = []
    member.peer.ask(member.request(0, acks=((0, 0, [RELEASE]),)))
    await settle()
    assert member.peer.answers() == []
    assert await other.acquire() == []
    world.persister.let_go()
    await settle()
    assert partition_of(member.peer.answer()).acknowledge_error_code == E.NONE
    assert await other.acquire() == [(0, 0, 2)]


async def test_what_cannot_be_stored_stays_acquired() -> None:
    world, member = await holding()
    world.persister.failure = KafkaError(E.NOT_COORDINATOR)
    assert partition_of(await member.acknowledge((0, 0, [1]))).error_code == E.COORDINATOR_NOT_AVAILABLE
    world.persister.failure = None
    assert partition_of(await member.acknowledge((0, 0, [1]))).error_code == E.NONE


async def test_a_fenced_state_is_loaded_again() -> None:
    world, member = await holding()
    world.persister.failure = KafkaError(E.FENCED_STATE_EPOCH)
    answer = await member.acknowledge((0, 0, [1]))
    assert partition_of(answer).error_code == E.NOT_LEADER_OR_FOLLOWER
    leader, (endpoint,) = partition_of(answer).current_leader, answer.node_endpoints
    assert (leader.leader_id, leader.leader_epoch) == (1, world.services.partitions.get("t", 0).leader_epoch)
    node = world.services.node
    assert (endpoint.node_id, endpoint.host, endpoint.port) == (node.node_id, node.host, node.port)
    world.persister.failure = None
    await member.fetch()
    assert await member.acquire() == [(0, 0, 1)]


@pytest.mark.parametrize("how", ["append", "release", "lock", "close", "leave"])
async def test_a_waiting_fetch_is_answered_once_there_are_records(how: str) -> None:
    world = ShareWorld()
    member, other = world.member(), world.member("other")
    await member.fetch()
    await other.fetch()
    if how != "append":
        world.append("t", b"a")
        assert await other.acquire() == [(0, 0, 1)]
    member.begin_fetch(max_wait_ms=60_000)
    await settle()
    assert member.peer.answers() == []
    if how == "append":
        world.append("t", b"a")
    elif how == "release":
        await other.acknowledge((0, 0, [RELEASE]))
    elif how == "lock":
        await world.advance(30_000)
    elif how == "close":
        other.peer.transport.close()
    else:
        await other.acknowledge(epoch=-1)
    await settle()
    assert acquired(member.peer.answer()) == [(0, 0, 1 if how == "append" else 2)]


async def test_a_lock_ends_with_its_timer_though_the_clock_rounds_its_time_down() -> None:
    world = ShareWorld()
    world.append("t", b"a")
    member = world.member()
    assert await member.acquire() == [(0, 0, 1)]
    (led,) = world.services.share_partitions.every_led()
    assert led._timer is not None
    assert led._timer.callback is not None
    led._timer.callback()
    await settle()
    assert await world.member("other").acquire() == [(0, 0, 2)]


async def test_a_fetch_waits_no_longer_than_it_wants_and_acquires_nothing_for_a_closed_connection() -> None:
    world = ShareWorld()
    member, gone = world.member(), world.member("gone")
    await member.fetch()
    member.begin_fetch(max_wait_ms=500)
    await world.advance(500)
    assert member.peer.answer().responses == []
    gone.begin_fetch(max_wait_ms=500)
    await settle()
    gone.peer.transport.close()
    await settle()
    world.append("t", b"a")
    await settle()
    assert await member.acquire() == [(0, 0, 1)]
    assert len(world.services.share_partitions.sessions) == 1


@pytest.mark.parametrize(
    ("reset", "ranges"), [("latest", []), ("earliest", [(0, 3, 1)]), ("by_duration:PT10S", [(2, 3, 1)])]
)
async def test_a_group_begins_where_its_setting_says(reset: str, ranges: list[tuple[int, int, int]]) -> None:
    world = ShareWorld()
    world.configure("share.auto.offset.reset", reset)
    world.append("t", b"a", b"b")
    world.clock.advance(60_000)
    world.append("t", b"c", b"d")
    member = world.member()
    assert await member.acquire() == ranges
    world.append("t", b"e")
    assert await member.acquire() == [(4, 4, 1)]


async def test_two_members_share_and_a_lock_ends_on_the_last_delivery() -> None:
    world = ShareWorld()
    world.configure("share.delivery.count.limit", "2")
    world.append("t", b"a")
    member = world.member()
    for count in (1, 2):
        assert await member.acquire() == [(0, 0, count)]
        assert await world.member("other").acquire() == []
        await world.advance(30_000)
    assert await member.acquire() == []
    assert partition_of(await member.acknowledge((0, 0, [1]))).error_code == E.NONE  # below the start offset


async def test_a_lock_ends_though_its_acknowledgement_could_not_be_stored() -> None:
    world, member = await holding()
    other = world.member("other")
    await world.advance(10_000)
    world.append("t", b"b")
    assert await other.acquire() == [(1, 1, 1)]
    world.persister.held = []
    other.peer.ask(other.request(0, acks=((1, 1, [ACCEPT]),)))
    await settle()
    (write,) = world.persister.held
    world.persister.held = None
    await world.advance(20_000)  # the first lock ends
    write.set_exception(KafkaError(E.COORDINATOR_NOT_AVAILABLE))
    await settle()
    await world.advance(10_000)
    assert await member.acquire() == [(0, 0, 2), (1, 1, 2)]


@pytest.mark.parametrize("duration_ms", [30_000, 15_000])
async def test_a_lock_ends_in_its_time_whatever_became_of_an_earlier_one(duration_ms: int) -> None:
    world, member = await holding()
    other = world.member("other")
    await world.advance(10_000)
    world.append("t", b"b")
    world.configure("share.record.lock.duration.ms", str(duration_ms))
    assert await other.acquire() == [(1, 1, 1)]
    assert partition_of(await member.acknowledge((0, 0, [ACCEPT]))).error_code == E.NONE
    await world.advance(duration_ms - 1)
    assert await member.acquire() == []
    await world.advance(1)
    assert await member.acquire() == [(1, 1, 2)]


async def test_a_renewed_lock_ends_later() -> None:
    world, member = await holding()
    await world.advance(20_000)
    assert partition_of(await member.acknowledge((0, 0, [RENEW]))).error_code == E.INVALID_REQUEST
    assert partition_of(await member.acknowledge((0, 0, [RENEW]), is_renew_ack=True)).error_code == E.NONE
    await world.advance(20_000)
    nothing = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0, "is_renew_ack": True}
    answer = await member.fetch(0, acks=((0, 0, [RENEW]),), **nothing)
    assert (partition_of(answer).acknowledge_error_code, partition_of(answer).acquired_records) == (E.NONE, [])
    await world.advance(20_000)
    assert await member.acquire() == []
    await world.advance(10_000)
    assert await member.acquire() == [(0, 0, 2)]
    assert world.persister.updates[-1].batches[0].delivery_state == 0


async def test_aborted_records_are_not_handed_to_readers_of_committed_ones() -> None:
    world = ShareWorld()
    world.configure("share.isolation.level", "read_committed")
    world.append("t", b"a", b"b", producer=(7, 0, 0), transactional=True)
    world.append("t", b"c")
    member = world.member()
    assert await member.acquire() == []
    world.services.partitions.append_marker("t", 0, EndTxnMarker(False, 7, 0, 0, 0, 0))
    world.append("t", b"d", producer=(7, 0, 2), transactional=True)
    world.services.partitions.append_marker("t", 0, EndTxnMarker(True, 7, 0, 0, 0, 0))
    assert await member.acquire() == [(2, 5, 1)]


async def test_the_bytes_are_cut_at_whole_batches() -> None:
    world = ShareWorld()
    for _ in range(4):
        world.append("t", bytes(900))
    member = world.member()
    assert await member.acquire(max_bytes=1) == [(0, 0, 1)]
    assert await member.acquire(max_bytes=2500) == [(1, 2, 1)]


async def test_partitions_come_in_turns_and_share_the_limit() -> None:
    world = ShareWorld(partitions=2)
    for partition in (0, 1):
        world.append("t", *[b"a"] * 20, partition=partition)
    member = world.member()
    answer = await member.fetch(0, 1, max_records=10, share_acquire_mode=1)
    assert [each.partition_index for each in answer.responses[0].partitions if each.acquired_records] == [0]
    answer = await member.fetch(max_records=10, share_acquire_mode=1)
    assert [each.partition_index for each in answer.responses[0].partitions if each.acquired_records] == [1]


async def test_forgotten_partitions_stay_locked() -> None:
    world, member = await holding()
    other = world.member("other")
    await member.forget(0)
    await member.acknowledge(epoch=-1)
    assert await other.acquire() == []
    await world.advance(30_000)
    assert await other.acquire() == [(0, 0, 2)]


@pytest.mark.parametrize("ends_session", [True, False])
async def test_a_group_starts_where_an_operator_set_it_once_no_member_is_connected(ends_session: bool) -> None:
    world = ShareWorld({"share.coordinator.state.topic.num.partitions": "1"}, in_memory=False)
    world.append("t", b"a", b"b", b"c")
    key = SharePartitionKey("g", world.topic_id, 0)
    await world.services.persister.initialize(key, 1, NOT_STARTED)
    member, other = world.member(), world.member("other")
    assert await member.acquire() == [(0, 2, 1)]
    if ends_session:
        await member.acknowledge((0, 2, [ACCEPT]), epoch=-1)
    member.peer.transport.close()
    await settle()
    await world.services.persister.initialize(key, 1, 1)
    assert await other.acquire() == [(1, 2, 1)]


@pytest.mark.parametrize("last", ["acknowledge", "fetch"])
async def test_a_session_ends_once_its_last_acknowledgements_are_stored(last: str) -> None:
    world = ShareWorld()
    world.append("t", b"a", b"b")
    member = world.member()
    assert await member.acquire() == [(0, 1, 1)]
    if last == "acknowledge":
        await member.acknowledge((0, 0, [ACCEPT]), epoch=-1)
    else:
        await member.fetch(0, share_session_epoch=-1, acks=((0, 0, [ACCEPT]),))
    await settle()
    updates = [(update.start_offset, *update.batches) for update in world.persister.updates]
    assert updates == [(0, (0, 0, 2, 1)), (1, (1, 1, 0, 1))], "the accepted record, then the released one"


async def test_share_partitions_stay_loaded_while_a_member_of_the_group_is_connected() -> None:
    world, member = await holding()
    gone = world.member("gone")
    await gone.fetch()
    gone.peer.transport.close()
    await settle()
    assert partition_of(await member.acknowledge((0, 0, [ACCEPT]))).error_code == E.NONE


async def test_sessions_have_epochs() -> None:
    world = ShareWorld()
    member = world.member()
    for epoch in (1, -1, -2):
        assert (await member.fetch(0, share_session_epoch=epoch)).error_code == E.SHARE_SESSION_NOT_FOUND
        assert (await member.acknowledge((0, 0, [1]), epoch=epoch)).error_code == E.SHARE_SESSION_NOT_FOUND
    await member.fetch()
    for epoch in (5, -2):
        assert (await member.fetch(0, share_session_epoch=epoch)).error_code == E.INVALID_SHARE_SESSION_EPOCH
        assert (await member.acknowledge((0, 0, [1]), epoch=epoch)).error_code == E.INVALID_SHARE_SESSION_EPOCH
    assert (await member.acknowledge((0, 0, [1]), epoch=0)).error_code == E.INVALID_SHARE_SESSION_EPOCH
    assert (await member.fetch(0, share_session_epoch=0, acks=((0, 0, [1]),))).error_code == E.INVALID_REQUEST
    assert (await member.fetch()).error_code == E.NONE
    world.append("t", b"a")
    assert await member.acquire() == [(0, 0, 1)]
    member.epoch = 0
    assert await member.acquire() == []  # begun anew: the record stays locked
    assert (await member.fetch(share_session_epoch=-1)).responses == []
    assert await world.member("other").acquire() == [(0, 0, 2)]


async def test_the_number_of_sessions_is_limited_and_a_closed_connection_frees_one() -> None:
    world = ShareWorld({"group.share.max.share.sessions": "1"})
    member, other = world.member(), world.member("other")
    await member.fetch()
    assert (await other.fetch(share_session_epoch=0)).error_code == E.SHARE_SESSION_LIMIT_REACHED
    other.peer.ask(other.request(0, max_wait_ms=500))
    await settle()
    assert other.peer.answers() == []
    await world.advance(500)
    assert other.peer.answer().error_code == E.SHARE_SESSION_LIMIT_REACHED
    member.peer.transport.close()
    await settle()
    assert (await other.fetch()).error_code == E.NONE


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"group_id": None}, E.INVALID_REQUEST),
        ({"member_id": None}, E.INVALID_REQUEST),
        ({"member_id": ""}, E.INVALID_REQUEST),
        ({"member_id": "m" * 36}, E.NONE),
        ({"member_id": "m" * 37}, E.INVALID_REQUEST),
        ({"share_acquire_mode": 5}, E.UNKNOWN_SERVER_ERROR),
        ({"is_renew_ack": True}, E.INVALID_REQUEST),
    ],
)
async def test_bad_requests_are_refused_at_the_top(more: dict[str, Any], code: ErrorCode) -> None:
    member = ShareWorld().member()
    assert (await member.fetch(**more)).error_code == code


async def test_without_share_groups_nothing_is_served() -> None:
    member = ShareWorld(level=0).member()
    assert (await member.fetch()).error_code == E.UNSUPPORTED_VERSION
    assert (await member.acknowledge((0, 0, [1]))).error_code == E.UNSUPPORTED_VERSION


async def test_partitions_that_are_not_there_have_their_errors() -> None:
    world = ShareWorld()
    assert partition_of(await world.member().fetch(7)).error_code == E.UNKNOWN_TOPIC_OR_PARTITION
    member = world.member("other")
    (topic,) = member.request(0).topics
    topic.topic_id = bytes(15) + b"x"
    assert partition_of(await member.fetch(topics=[topic])).error_code == E.UNKNOWN_TOPIC_ID


async def test_what_is_acknowledged_need_not_be_in_the_session_but_loaded() -> None:
    world = ShareWorld()
    world.persister.begins = False
    member = world.member()
    await member.fetch(topics=[])
    assert partition_of(await member.acknowledge((0, 0, [1]))).error_code == E.UNKNOWN_TOPIC_OR_PARTITION
    world.persister.begins = True
    await world.load()
    assert partition_of(await member.acknowledge((0, 0, [1]))).error_code == E.INVALID_RECORD_STATE
    unchanged = AcknowledgeTopic(
        topic_id=world.topic_id, partitions=[AcknowledgePartition(partition_index=0, acknowledgement_batches=[])]
    )
    assert (await member.acknowledge(topics=[unchanged])).responses == []


async def test_a_group_that_was_never_begun_has_an_error_after_the_wait() -> None:
    world = ShareWorld()
    world.persister.begins = False
    member = world.member()
    member.begin_fetch(max_wait_ms=500)
    await settle()
    assert member.peer.answers() == []
    await world.advance(500)
    assert partition_of(member.peer.answer()).error_code == E.UNKNOWN_SERVER_ERROR


async def test_no_records_are_acquired_by_fetches_for_none() -> None:
    world = ShareWorld()
    world.append("t", b"a")
    member = world.member()
    assert (await member.fetch(max_records=0)).responses == []
    assert await member.acquire(max_records=-1) == []


async def test_a_deleted_topic_is_an_error_of_its_partitions() -> None:
    world, member = await holding()
    member.begin_fetch(max_wait_ms=60_000)
    await settle()
    topic_id = world.topic_id
    world.services.catalogue.delete_topics(["t"])
    await settle()
    assert partition_of(member.peer.answer()).error_code == E.UNKNOWN_TOPIC_ID
    assert topic_id not in world.services.catalogue.topics_by_id


async def test_the_start_offset_follows_the_log_start() -> None:
    world = ShareWorld()
    for _ in range(4):
        world.append("t", b"a")
    member = world.member()
    await member.fetch()
    world.services.partitions.delete_records_before("t", 0, 2)
    assert await member.acquire() == []
    await member.acknowledge((0, 3, [RELEASE]))
    assert await member.acquire() == [(2, 3, 2)]


@pytest.mark.parametrize(
    ("denied", "top", "below"),
    [("g", E.GROUP_AUTHORIZATION_FAILED, None), ("t", E.NONE, E.TOPIC_AUTHORIZATION_FAILED)],
)
async def test_members_need_to_read_the_group_and_the_topic(
    monkeypatch: pytest.MonkeyPatch, denied: str, top: ErrorCode, below: ErrorCode | None
) -> None:
    class Denying:
        def allows(self, operation: Operation, resource: Resource, name: str) -> bool:
            assert operation is Operation.READ
            return name != denied

    monkeypatch.setattr(RequestContext, "rights", property(lambda _: Denying()))
    member = ShareWorld().member()
    for answer in (await member.fetch(), await member.acknowledge((0, 0, [1]))):
        assert answer.error_code == top
        assert [each.error_code for topic in answer.responses for each in topic.partitions] == (
            [below] if below else []
        )


async def test_an_error_of_the_broker_is_answered_at_the_top(monkeypatch: pytest.MonkeyPatch) -> None:
    member = ShareWorld().member()
    await member.fetch()

    def broken(group_id: str) -> ShareGroupSettings:
        raise RuntimeError("broken")

    monkeypatch.setattr(member.world.services.share_partitions, "settings_of", broken)
    for answer in (await member.fetch(0), await member.acknowledge((0, 0, [1]))):
        assert (answer.error_code, answer.responses) == (E.UNKNOWN_SERVER_ERROR, [])


async def test_the_share_coordinator_stores_what_is_acknowledged() -> None:
    world = ShareWorld({"share.coordinator.state.topic.num.partitions": "1"}, in_memory=False)
    world.append("t", b"a", b"b", b"c")
    key = SharePartitionKey("g", world.topic_id, 0)
    await world.services.persister.initialize(key, 1, NOT_STARTED)
    member = world.member()
    assert await member.acquire() == [(0, 2, 1)]
    assert partition_of(await member.acknowledge((0, 2, [ACCEPT, RELEASE, REJECT]))).error_code == E.NONE
    stored = await world.services.persister.read(key, 0)
    assert stored.start_offset == 0
    assert [tuple(each) for each in stored.batches] == [(0, 0, 2, 1), (1, 1, 0, 1), (2, 2, 4, 1)]
    assert await member.acquire() == [(1, 1, 2)]
