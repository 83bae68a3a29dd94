"""The order of things: nothing is answered before it is written, and nothing twice."""

import asyncio
from itertools import pairwise

from barnabas.broker.coordinator.group.decisions.classic.model import GroupConfig, JoinReply
from barnabas.broker.coordinator.group.offset_expiration import EXPIRED_IN_A_TURN
from barnabas.broker.coordinator.runtime.outcome import FinishTransaction, Outcome, SetTimer, TimerKey
from barnabas.broker.coordinator.runtime.shard import TIMER_BEHIND_MS, TIMER_RETRY_MAX_MS, TIMER_RETRY_MS, Shard
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import code_of
from tests.support.worlds.group import GroupWorld, reply_of
from tests.support.worlds.memory_topic import MemoryTopic


def test_a_commit_is_answered_once_it_is_on_disk(groups: GroupWorld) -> None:
    groups.topic.loop = groups.loop
    answered = groups.commit([("t", 0, 5)])
    groups.advance(1_000)
    assert not answered.done()
    groups.topic.sync()
    groups.settle()
    assert answered.result() == (ErrorCode.NONE,)


def test_responses_with_unsynced_state_wait_and_refusals_do_not(groups: GroupWorld) -> None:
    joined = groups.join(version=3)
    groups.advance(0)
    member_id = joined.result().member_id
    groups.sync(member_id, 1, [(member_id, b"x")])
    groups.topic.loop = groups.loop
    groups.commit([("t", 0, 5)], member_id=member_id, generation_id=1)
    told = groups.heartbeat(member_id, 1)
    assert groups.heartbeat("nobody", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    groups.settle()
    assert not told.done()
    groups.topic.sync()
    groups.settle()
    assert told.result() is ErrorCode.NONE
    assert groups.heartbeat(member_id, 1) is ErrorCode.NONE


def test_a_commit_that_cannot_be_synced_is_not_acknowledged(groups: GroupWorld) -> None:
    groups.topic.loop = groups.loop
    answered = groups.commit([("t", 0, 5)])
    groups.topic.sync(failure=KafkaError(ErrorCode.KAFKA_STORAGE_ERROR))
    groups.settle()
    assert code_of(answered.result) is ErrorCode.NOT_COORDINATOR


def test_a_commit_that_is_not_synced_in_time_is_sent_away_and_may_be_there_all_the_same() -> None:
    with GroupWorld(GroupConfig(offsets_commit_timeout_ms=5_000)) as world:
        world.topic.loop = world.loop
        punctual = world.commit([("t", 0, 4)])
        world.topic.sync()
        world.advance(4_999)
        late = world.commit([("t", 0, 5)])
        world.advance(4_999)
        assert punctual.result() == (ErrorCode.NONE,)
        assert not late.done()
        world.advance(1)
        assert code_of(late.result) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        world.topic.sync()
        world.settle()
        assert world.committed() == {("t", 0): 5}
        assert world.clock.pending_timers() == 1, "only the expiry of offsets is still to come"


def test_followers_too_wait_until_the_assignment_is_on_disk(groups: GroupWorld) -> None:
    joins = [groups.join(client=name, version=3) for name in ("a", "b")]
    groups.advance(0)
    leader, follower = (future.result().member_id for future in joins)
    waits = groups.sync(follower, 1)
    groups.topic.loop = groups.loop
    leads = groups.sync(leader, 1, [(leader, b"x"), (follower, b"y")])
    groups.settle()
    assert not waits.done()
    assert not leads.done()
    groups.topic.sync()
    groups.settle()
    assert (leads.result().assignment, waits.result().assignment) == (b"x", b"y")


def test_a_member_that_retries_takes_the_place_of_its_first_request(groups: GroupWorld) -> None:
    groups.stable_group("a")
    newcomer = groups.join(client="b").member_id
    first, second = groups.join(member_id=newcomer, client="b"), groups.join(member_id=newcomer, client="b")
    groups.settle()
    assert code_of(first.result) is ErrorCode.REBALANCE_IN_PROGRESS
    assert not second.done()


def test_a_closed_connection_leaves_its_member_in_the_group(groups: GroupWorld) -> None:
    leader = groups.stable_group("a")[0]
    newcomer = groups.join(client="b").member_id
    parked = groups.join(member_id=newcomer, client="b")
    parked.cancel()
    groups.settle()
    reply = reply_of(groups.join(member_id=leader, client="a"))
    assert isinstance(reply, JoinReply)
    assert [member.member_id for member in reply.members] == [leader, newcomer]


def test_waiters_are_answered_when_the_broker_stops(groups: GroupWorld) -> None:
    groups.stable_group("a")
    newcomer = groups.join(client="b").member_id
    parked = groups.join(member_id=newcomer, client="b")
    groups.coordinator.close()
    assert code_of(parked.result) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert code_of(lambda: groups.heartbeat(newcomer, 1)) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert groups.clock.pending_timers() == 0


def test_many_groups_expire_in_many_turns_and_others_get_theirs_in_between() -> None:
    with GroupWorld(GroupConfig(offsets_retention_ms=1_000, offsets_retention_check_interval_ms=10_000)) as world:
        for number in range(2 * EXPIRED_IN_A_TURN + 1):
            world.commit([("t", 0, 5)], group_id=f"group-{number}")
        world.clock.advance(10_000)
        assert len(world.coordinator.groups()) == EXPIRED_IN_A_TURN + 1
        world.turns()
        assert world.coordinator.groups() == []


def test_one_decision_is_one_batch(groups: GroupWorld) -> None:
    groups.commit([("t", partition, 1) for partition in range(100)])
    assert groups.topic.batches_count == 1


def test_names_that_fit_no_record_are_refused_and_leave_nothing_behind(groups: GroupWorld) -> None:
    assert code_of(lambda: groups.join("g" * 40_000)) is ErrorCode.INVALID_GROUP_ID
    assert groups.coordinator.groups() == []
    long_name = groups.join(client="c" * 40_000)
    assert long_name.error is ErrorCode.MEMBER_ID_REQUIRED
    joined = groups.join(member_id=long_name.member_id, client="c" * 40_000)
    groups.advance(0)
    parked = groups.sync(joined.result().member_id, 1, [])
    assert parked.result().error is ErrorCode.UNKNOWN_SERVER_ERROR


class _Notes:
    """A machine whose records are words."""

    def __init__(self) -> None:
        self.replayed: list[str] = []

    def encode(self, record: str) -> tuple[bytes, bytes | None]:
        return record.encode(), None

    def replay(self, record: str, record_offset: int, producer_id: int = -1) -> None:
        self.replayed.append(record)

    def install(self, entity_id: str, volatile: None) -> None:
        raise AssertionError("nothing here is volatile")

    def timer_fired(self, entity_id: str, timer: TimerKey, now_ms: int) -> Outcome[str, None]:
        return Outcome(records=(timer.kind,))


def _shard(loop: asyncio.AbstractEventLoop, topic: MemoryTopic) -> tuple[Shard[str, None], list[tuple[str, object]]]:
    machine = _Notes()
    seen: list[tuple[str, object]] = []

    def perform(entity_id: str, effect: object) -> None:
        assert machine.replayed, "an effect comes after what it is an effect of"
        seen.append((entity_id, effect))

    return Shard(0, machine, topic, VirtualClock(), loop.create_future, perform=perform), seen


_PREPARED: Outcome[str, None] = Outcome(records=("prepared",), reply="yes", effects=(FinishTransaction(),))


def test_an_effect_of_the_shards_owner_is_performed_before_the_reply_when_nothing_waits_for_the_disk() -> None:
    loop = asyncio.new_event_loop()
    shard, seen = _shard(loop, MemoryTopic())
    assert shard.execute("t", _PREPARED) == "yes"
    assert seen == [("t", FinishTransaction())]
    loop.close()


def test_it_waits_for_the_disk_with_the_reply_and_is_left_out_when_the_disk_fails() -> None:
    loop = asyncio.new_event_loop()
    topic = MemoryTopic()
    topic.loop = loop
    shard, seen = _shard(loop, topic)
    for failure, expected in ((None, 1), (KafkaError(ErrorCode.KAFKA_STORAGE_ERROR), 1)):
        answered = shard.execute("t", _PREPARED)
        topic.sync(failure)
        loop.call_soon(loop.stop)
        loop.run_forever()
        assert answered.done()
        assert len(seen) == expected
        assert (answered.exception() is None) == (failure is None)
    loop.close()


def test_a_timer_fires_again_until_its_decision_is_written() -> None:
    machine, topic, clock = _Notes(), MemoryTopic(), VirtualClock()
    shard = Shard(0, machine, topic, clock, asyncio.Future)
    timer = TimerKey("session", "m")
    shard.execute("g", Outcome(effects=(SetTimer(timer, 1_000),)))
    topic.refuse_with = ErrorCode.KAFKA_STORAGE_ERROR
    clock.advance(1_000 + 5 * TIMER_RETRY_MS)
    assert machine.replayed == []
    topic.refuse_with = None
    clock.advance(10 * TIMER_RETRY_MS)
    assert machine.replayed == ["session"]
    assert clock.pending_timers() == 0


def test_a_timer_that_is_refused_again_and_again_fires_less_often() -> None:
    asked: list[int] = []

    class Asked(_Notes):
        def timer_fired(self, entity_id: str, timer: TimerKey, now_ms: int) -> Outcome[str, None]:
            asked.append(now_ms)
            return super().timer_fired(entity_id, timer, now_ms)

    topic, clock = MemoryTopic(), VirtualClock()
    shard = Shard(0, Asked(), topic, clock, asyncio.Future)
    topic.refuse_with = ErrorCode.RECORD_LIST_TOO_LARGE
    shard.execute("g", Outcome(effects=(SetTimer(TimerKey("session", "m"), 1_000),)))
    clock.advance(100_000)
    waits = [later - earlier for earlier, later in pairwise(asked)]
    assert waits[:4] == [TIMER_RETRY_MS, 2 * TIMER_RETRY_MS, 4 * TIMER_RETRY_MS, 8 * TIMER_RETRY_MS]
    assert set(waits[5:]) == {TIMER_RETRY_MAX_MS}


def test_a_timer_waits_for_a_decision_that_is_being_made() -> None:
    deciding = {"g"}
    machine, clock = _Notes(), VirtualClock()
    shard = Shard(0, machine, MemoryTopic(), clock, asyncio.Future, is_deciding=deciding.__contains__)
    shard.execute("g", Outcome(effects=(SetTimer(TimerKey("session", "m"), 1_000),)))
    clock.advance(2_000)
    assert machine.replayed == []
    deciding.clear()
    clock.advance(TIMER_BEHIND_MS)
    assert machine.replayed == ["session"]


def test_a_timer_that_runs_is_left_alone_where_that_is_requested() -> None:
    machine, clock = _Notes(), VirtualClock()
    shard = Shard(0, machine, MemoryTopic(), clock, asyncio.Future)
    later = SetTimer(TimerKey("session", "m"), 1_000, unless_it_runs=True)
    for _ in range(3):
        shard.execute("g", Outcome(effects=(later,)))
        clock.advance(400)
    assert machine.replayed == ["session"]
    shard.execute("g", Outcome(effects=(later,)))
    assert clock.pending_timers() == 1


def test_a_timer_of_a_closed_partition_is_not_set_again() -> None:
    topic, clock = MemoryTopic(), VirtualClock()
    shard = Shard(0, _Notes(), topic, clock, asyncio.Future)
    shard.close()
    shard.timer_fired("g", TimerKey("session", "m"))
    assert clock.pending_timers() == 0


def test_a_consumer_whose_session_ends_while_nothing_can_be_written_leaves_once_it_can(groups: GroupWorld) -> None:
    groups.topics.make("t", 1)
    assert reply_of(groups.beat("m")).member_epoch > 0
    groups.topic.refuse_with = ErrorCode.KAFKA_STORAGE_ERROR
    groups.advance(60_000)
    assert list(groups.coordinator.consumer.describe("g").members) == ["m"]
    groups.topic.refuse_with = None
    groups.advance(TIMER_RETRY_MS)
    assert not groups.coordinator.consumer.describe("g").members
