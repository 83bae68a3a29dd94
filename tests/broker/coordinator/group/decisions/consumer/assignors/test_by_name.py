"""What all server-side assignors do alike, whatever they decide."""

from collections.abc import Callable, Generator

import pytest

from barnabas.broker.coordinator.group.decisions.consumer.assignors.by_name import ASSIGNORS, Assignor
from barnabas.broker.coordinator.group.decisions.consumer.assignors.drafts import AssignmentDraft
from barnabas.broker.coordinator.group.decisions.consumer.assignors.input_order import member_order, timeline_order
from barnabas.broker.coordinator.group.decisions.consumer.assignors.model import (
    MEMBERS_AT_ONCE,
    AssignorError,
    GroupSpec,
    MemberSpec,
    Subscription,
    SubscriptionType,
)
from barnabas.storage.steps import finish

_TOPIC = bytes(range(16))
_BOTH = tuple(SubscriptionType)


@pytest.fixture(params=list(ASSIGNORS.values()), ids=list(ASSIGNORS))
def assignor(request: pytest.FixtureRequest) -> Assignor:
    chosen: Assignor = request.param
    return chosen


def test_uniform_is_the_default() -> None:
    assert list(ASSIGNORS) == ["uniform", "range"]


@pytest.mark.parametrize("subscription_type", _BOTH)
def test_a_group_without_members_has_no_targets(assignor: Assignor, subscription_type: SubscriptionType) -> None:
    assert finish(assignor(GroupSpec({}, {_TOPIC: 3}, subscription_type))) == {}


@pytest.mark.parametrize("subscription_type", _BOTH)
def test_members_without_topics_have_empty_targets(assignor: Assignor, subscription_type: SubscriptionType) -> None:
    spec = GroupSpec({"a": MemberSpec(), "b": MemberSpec(Subscription((), 2), {_TOPIC: (0,)})}, {}, subscription_type)
    assert finish(assignor(spec)) == {"a": {}, "b": {}}


@pytest.mark.parametrize("subscription_type", _BOTH)
def test_a_topic_that_nobody_knows_is_an_error(assignor: Assignor, subscription_type: SubscriptionType) -> None:
    spec = GroupSpec({"a": MemberSpec(Subscription((_TOPIC,), 1))}, {}, subscription_type)
    with pytest.raises(AssignorError, match="000102"):
        finish(assignor(spec))


def test_partitions_that_do_not_exist_are_an_error_where_they_take_the_room_of_others() -> None:
    members = {"a": MemberSpec(Subscription((_TOPIC,), 1), {_TOPIC: (7, 8)})}
    with pytest.raises(AssignorError, match="do not exist"):
        finish(ASSIGNORS["uniform"](GroupSpec(members, {_TOPIC: 2}, SubscriptionType.HOMOGENEOUS)))


@pytest.mark.parametrize("subscription_type", _BOTH)
def test_others_can_run_after_some_members(assignor: Assignor, subscription_type: SubscriptionType) -> None:
    members = {f"m{number}": MemberSpec(Subscription((_TOPIC,), 1)) for number in range(10 * MEMBERS_AT_ONCE)}
    steps = assignor(GroupSpec(members, {_TOPIC: 100}, subscription_type))
    assert sum(1 for _ in steps) >= 10


@pytest.mark.parametrize("in_order", [member_order, lambda ids: timeline_order(ids, 20)], ids=["input", "table"])
def test_a_member_with_a_long_id_has_a_step_of_its_own(
    in_order: Callable[[list[str]], Generator[None, None, list[str]]],
) -> None:
    assert sum(1 for _ in in_order([f"{number:05000}" for number in range(20)])) == 20


@pytest.mark.pure
@pytest.mark.parametrize("kind", _BOTH)
def test_a_member_gives_up_one_partition_in_a_step(kind: SubscriptionType, monkeypatch: pytest.MonkeyPatch) -> None:
    subscription = Subscription((_TOPIC,), 1)
    members = {"a": MemberSpec(subscription, {_TOPIC: tuple(range(1_000))}), "b": MemberSpec(subscription)}
    taken: list[int] = []
    remove = AssignmentDraft.remove

    def watched(draft: AssignmentDraft, topic_id: bytes, partition: int) -> None:
        taken.append(partition)
        remove(draft, topic_id, partition)

    monkeypatch.setattr(AssignmentDraft, "remove", watched)
    in_a_step = []
    for _ in ASSIGNORS["uniform"](GroupSpec(members, {_TOPIC: 1_000}, kind)):
        in_a_step.append(len(taken))
        taken.clear()
    assert (sum(in_a_step), max(in_a_step)) == (500, 1)
