"""The life of a streams group: heartbeats, targets, members that come, give tasks up and leave."""

from dataclasses import replace

import pytest

from barnabas.broker.coordinator.group.decisions.streams.model import (
    StreamsHeartbeatReply,
    StreamsMemberState,
    UserEndpoint,
)
from barnabas.broker.coordinator.group.decisions.streams.task_offsets import ReportedOffset
from barnabas.broker.coordinator.group.decisions.streams.tasks import TaskSets
from barnabas.broker.coordinator.group.decisions.streams.timers import (
    INITIAL_REBALANCE,
    rebalance_timer,
    session_timer,
)
from barnabas.protocol.errors import ErrorCode, KafkaError
from tests.support.worlds.streams_world import COUNTING, StreamsWorld, subtopology, tasks, topology

ALL = {"words": 2, "by-word": 2, "counts": 2}
EVERYTHING = tasks({"0": [0, 1], "1": [0, 1]})


def statuses(reply: StreamsHeartbeatReply) -> list[int]:
    return [each.status.value for each in reply.statuses]


def refusal(code: ErrorCode, why: str | None = None) -> pytest.RaisesExc[KafkaError]:
    return pytest.RaisesExc(KafkaError, match=why, check=lambda error: error.code is code)


def started(**settings: int) -> StreamsWorld:
    """A group whose first member has all tasks in epoch 2."""
    world = StreamsWorld(ALL, initial_rebalance_delay_ms=0, assignment_interval_ms=0, **settings)
    assert world.join("m").tasks == EVERYTHING
    world.heartbeat("m", 2, owned=EVERYTHING)
    world.written()
    return world


def test_a_group_begins_as_in_kafka() -> None:
    """The exchange and the records that were seen between a program of two subtopologies and Kafka 4.4.0."""
    world = StreamsWorld({"words": 2})
    reply = world.join("m")
    assert (reply.member_epoch, statuses(reply), reply.tasks) == (1, [5, 3], TaskSets())
    assert [topic.name for topic in reply.missing_topics] == ["by-word", "counts"]
    assert world.written() == ["19", "23", "17", "22"]
    assert (world.group.state.value, world.group.group_epoch, world.group.assignment_epoch) == ("NotReady", 2, 1)
    world.topics.create(**ALL)
    reply = world.heartbeat("m", 1, owned=TaskSets())
    assert (reply.member_epoch, statuses(reply), reply.tasks) == (1, [5], None)
    assert world.written() == ["17"]
    assert (world.group.state.value, world.group.group_epoch) == ("Assigning", 3)
    world.fire(INITIAL_REBALANCE)
    assert world.written() == ["21", "20"]
    assert world.group.state.value == "Reconciling"
    reply = world.heartbeat("m", 1)
    assert (reply.member_epoch, statuses(reply), reply.tasks) == (3, [], EVERYTHING)
    assert world.written() == ["22"]
    assert world.group.state.value == "Stable"
    assert world.heartbeat("m", 3, owned=EVERYTHING).tasks is None
    assert world.written() == []


def test_a_second_member_gets_its_tasks_once_they_are_given_up() -> None:
    world = started()
    reply = world.join("n")
    assert (reply.member_epoch, reply.tasks) == (3, TaskSets())
    assert world.group.members["n"].state is StreamsMemberState.UNRELEASED_TASKS
    retained = tasks({"0": [0], "1": [0]})
    reply = world.heartbeat("m", 2)
    assert (reply.member_epoch, reply.tasks) == (2, retained)
    assert world.timers[rebalance_timer("m")] == 300_000
    reply = world.heartbeat("m", 2, owned=retained)
    assert (reply.member_epoch, reply.tasks) == (3, None)
    assert rebalance_timer("m") not in world.timers
    assert world.heartbeat("n", 3).tasks == tasks({"0": [1], "1": [1]})
    assert world.group.state.value == "Stable"


def test_a_member_that_gives_nothing_up_loses_its_place() -> None:
    world = started()
    world.join("n")
    world.heartbeat("m", 2)
    world.fire(rebalance_timer("m"))
    assert list(world.group.members) == ["n"]
    assert world.heartbeat("n", 3).tasks == EVERYTHING


def test_the_last_member_leaves_as_in_kafka() -> None:
    world = started()
    assert world.leave("m") == StreamsHeartbeatReply("m", -1)
    assert world.written() == ["22 gone", "21 gone", "19 gone", "17", "20"]
    assert (world.group.state.value, world.group.group_epoch, world.group.assignment_epoch) == ("Empty", 3, 3)
    assert not world.timers


def test_a_session_that_ends_is_a_leave() -> None:
    world = started(session_timeout_ms=50_000)
    assert world.timers[session_timer("m")] == 50_000
    world.fire(session_timer("m"))
    assert not world.group.members


def test_an_assignment_waits_for_the_interval() -> None:
    world = StreamsWorld(ALL, initial_rebalance_delay_ms=0)
    world.join("m")
    world.now_ms += 999
    reply = world.join("n")
    assert statuses(reply) == [5]
    assert reply.statuses[0].detail == "Assignment delayed due to the configured assignment interval."
    world.now_ms += 1
    assert statuses(world.heartbeat("n", 2)) == []
    assert world.group.assignment_epoch == 3


def test_standby_tasks_are_of_subtopologies_with_state_and_on_another_process() -> None:
    world = started(num_standby_replicas=1)
    world.join("n")
    world.heartbeat("m", 2, owned=tasks({"0": [0], "1": [0]}))
    reply = world.heartbeat("n", 3)
    assert reply.tasks == tasks({"0": [1], "1": [1]}, {"1": [0]})
    assert world.group.targets["m"] == tasks({"0": [0], "1": [0]}, {"1": [1]})


def test_another_number_of_standby_replicas_begins_an_epoch() -> None:
    world = started()
    world.config = StreamsWorld(ALL, initial_rebalance_delay_ms=0, num_standby_replicas=1).config
    world.now_ms += 1_000
    assert world.heartbeat("m", 2).member_epoch == 3
    assert world.group.assignment_configs == {"num.standby.replicas": "1"}


@pytest.mark.parametrize(
    ("change", "is_bumped"),
    [
        ({"rack_id": "r"}, True),
        ({"process_id": "other"}, True),
        ({"client_tags": {"zone": "a"}}, True),
        ({"user_endpoint": UserEndpoint("h", 1)}, False),
        ({"client_host": "/1.2.3.4"}, False),
        ({"rebalance_timeout_ms": 5}, False),
    ],
)
def test_only_what_the_assignment_depends_on_begins_an_epoch(change: dict[str, object], is_bumped: bool) -> None:
    world = started()
    world.heartbeat("m", 2, **change)
    assert world.group.group_epoch == 2 + is_bumped
    assert world.written()[0] == "19"


def test_topics_that_grow_or_go_begin_an_epoch() -> None:
    world = started()
    world.topics.create(words=3)
    reply = world.heartbeat("m", 2)
    assert statuses(reply) == [2]
    assert (reply.member_epoch, reply.tasks) == (2, TaskSets())  # to give up: the target is empty
    assert world.group.state.value == "NotReady"


def test_a_static_member_comes_back_under_a_new_id_with_its_tasks() -> None:
    world = StreamsWorld(ALL, initial_rebalance_delay_ms=0)
    world.join("m", instance_id="i", process_id="p")
    world.leave("m", -2, instance_id="i")
    assert world.group.state.value == "Reconciling"
    assert world.group.members["m"].member_epoch == -2
    world.written()
    reply = world.join("n", instance_id="i", process_id="p")
    assert (reply.member_epoch, reply.tasks) == (2, EVERYTHING)
    assert world.written() == ["22 gone", "21 gone", "19 gone", "19", "21", "22", "22"]
    assert list(world.group.members) == ["n"]
    assert session_timer("m") not in world.timers


def test_a_static_members_place_is_its_own() -> None:
    world = StreamsWorld(ALL, initial_rebalance_delay_ms=0)
    world.join("m", instance_id="i")
    with refusal(ErrorCode.UNRELEASED_INSTANCE_ID):
        world.join("n", instance_id="i")
    with refusal(ErrorCode.FENCED_INSTANCE_ID):
        world.heartbeat("n", 2, instance_id="i")
    with refusal(ErrorCode.UNKNOWN_MEMBER_ID, "Instance id j is unknown"):
        world.leave("m", -2, instance_id="j")


def test_a_shutdown_is_told_to_all_until_the_group_is_empty() -> None:
    world = started()
    world.join("n")
    assert statuses(world.heartbeat("m", 2, shutdown_application=True)) == [4]
    reply = world.heartbeat("n", 3)
    assert reply.statuses[-1].detail.startswith("Streams group member m encountered a fatal error")
    world.leave("m")
    world.leave("n")
    assert 4 not in statuses(world.join("o"))


def test_a_leave_can_request_the_shutdown() -> None:
    world = started()
    world.join("n")
    world.leave("m", shutdown_application=True)
    assert 4 in statuses(world.heartbeat("n", 3))


def test_an_older_topology_is_stale_and_another_one_refused() -> None:
    newer = topology(*COUNTING, epoch=1)
    world = StreamsWorld(ALL, initial_rebalance_delay_ms=0)
    world.join("m", of=newer)
    reply = world.join("n", of=topology(*COUNTING, epoch=0))
    assert statuses(reply)[0] == 0
    assert reply.statuses[0].detail == "The member's topology epoch 0 is behind the group's topology epoch 1."
    with refusal(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet"):
        world.join("o", of=topology(subtopology("0", ["words"]), epoch=2))


@pytest.mark.parametrize(
    ("epoch", "owned", "is_fenced"),
    [
        (2, None, False),
        (1, TaskSets(), False),  # the previous epoch: the answer was lost
        (1, EVERYTHING, False),
        (1, None, True),
        (1, tasks({"2": [0]}), True),
        (3, None, True),
    ],
)
def test_a_member_names_its_epoch(epoch: int, owned: TaskSets | None, is_fenced: bool) -> None:
    world = StreamsWorld({"words": 2}, initial_rebalance_delay_ms=0, assignment_interval_ms=0)
    world.join("m")
    world.topics.create(**ALL)
    world.heartbeat("m", 2)
    member = world.group.members["m"]
    world.group.put_member(member._replace(member_epoch=2, previous_member_epoch=1))
    if is_fenced:
        with refusal(ErrorCode.FENCED_MEMBER_EPOCH, "member epoch"):
            world.heartbeat("m", epoch, owned=owned)
    else:
        world.heartbeat("m", epoch, owned=owned)


@pytest.mark.parametrize(
    ("owned", "why"),
    [
        (tasks({"2": [0]}), "Subtopology 2 does not exist in the topology."),
        (tasks({"0": [2]}), "Task 2 for subtopology 0 is invalid. Number of tasks for this subtopology: 2"),
        (tasks({}, {"1": [-1]}), "Task -1 for subtopology 1 is invalid."),
    ],
)
def test_tasks_that_do_not_exist_are_refused(owned: TaskSets, why: str) -> None:
    world = started()
    with refusal(ErrorCode.INVALID_REQUEST, why):
        world.heartbeat("m", 2, owned=owned)


def test_a_full_group_takes_only_members_it_has() -> None:
    world = started(max_size=1)
    with refusal(ErrorCode.GROUP_MAX_SIZE_REACHED, "maximum capacity of 1 members"):
        world.join("n")
    assert world.join("m").member_epoch == 2


def test_an_unknown_member_is_refused() -> None:
    with refusal(ErrorCode.UNKNOWN_MEMBER_ID, "Member n is not a member of group app."):
        started().heartbeat("n", 1)


def test_endpoints_are_sent_when_they_changed() -> None:
    world = StreamsWorld(ALL, initial_rebalance_delay_ms=0, assignment_interval_ms=0)
    world.join("m", user_endpoint=UserEndpoint("host", 8080))
    reply = world.heartbeat("m", 2)
    assert (reply.endpoint_epoch, len(reply.endpoints or ())) == (1, 1)
    assert reply.endpoints is not None
    assert reply.endpoints[0] == (("host", 8080), {"words": (0, 1), "by-word": (0, 1)}, {})
    assert world.heartbeat("m", 2, endpoint_epoch=1).endpoints is None


def test_a_changed_endpoint_is_sent_without_changed_tasks() -> None:
    world = started()
    reply = world.heartbeat("m", 2, user_endpoint=UserEndpoint("host", 8080))
    assert (reply.tasks, reply.endpoint_epoch, len(reply.endpoints or ())) == (None, 1, 1)
    again = world.heartbeat("m", 2, user_endpoint=UserEndpoint("host", 8080), endpoint_epoch=1)
    assert (again.endpoint_epoch, again.endpoints) == (1, None)


def test_a_member_without_the_required_tags_is_told_so() -> None:
    world = started()
    world.config = replace(world.config, rack_aware_tags=("zone", "row"))
    world.now_ms += 1_000
    reply = world.heartbeat("m", 2)
    assert statuses(reply) == [6]
    assert "standby assignment: [zone, row]. Configure" in reply.statuses[0].detail
    assert world.group.assignment_configs["rack.aware.assignment.tags"] == "zone,row"
    world.now_ms += 1_000
    assert statuses(world.heartbeat("m", 3, client_tags={"zone": "a", "row": "b"})) == []


@pytest.mark.parametrize("reader", ["n", "o"])
def test_a_task_goes_to_the_member_that_has_read_most_of_its_changelog(reader: str) -> None:
    world = StreamsWorld(ALL)
    for member_id in ("n", "o"):
        world.join(member_id, task_offsets=[ReportedOffset("1", 0, 9 if member_id == reader else 5)])
    world.fire(INITIAL_REBALANCE)
    assert 0 in world.group.targets[reader].active["1"]


def test_reports_last_until_the_next_one_and_as_long_as_the_member() -> None:
    world = started()
    world.heartbeat("m", 2, task_offsets=[ReportedOffset("1", 0, 3)])
    world.heartbeat("m", 2, task_end_offsets=[ReportedOffset("1", 0, 4)])
    assert world.group.volatile.task_offsets == {"m": ({"1": {0: 3}}, {"1": {0: 4}})}
    epoch = world.join("n").member_epoch
    world.leave("m")
    world.heartbeat("n", epoch, task_offsets=[])
    assert world.group.volatile.task_offsets == {"n": ({}, {})}


def test_a_task_reported_twice_is_refused() -> None:
    twice = [ReportedOffset("1", 0, offset) for offset in (3, 4)]
    with refusal(ErrorCode.INVALID_REQUEST, "a duplicate entry for subtopology 1 and partition 0."):
        started().heartbeat("m", 2, task_offsets=twice)


def test_a_member_in_a_state_of_a_later_release_begins_again() -> None:
    world = started()
    world.group.put_member(world.group.members["m"]._replace(state=StreamsMemberState(7)))
    with refusal(ErrorCode.FENCED_MEMBER_EPOCH, "in a unknown state"):
        world.heartbeat("m", 2)
    assert world.heartbeat("m", 2, owned=TaskSets()).member_epoch == 2


def test_a_group_read_again_is_the_same() -> None:
    world = started(num_standby_replicas=1)
    world.join("n", instance_id="i", user_endpoint=UserEndpoint("h", 1), client_tags={"b": "1", "a": "2"})
    copied = world.group.copy()
    assert copied == world.group
    world.leave("m")
    assert copied != world.group
