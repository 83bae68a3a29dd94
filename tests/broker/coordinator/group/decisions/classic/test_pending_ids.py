"""The ids that a group handed out and that did not join yet."""

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.coordinator.group.decisions.classic.pending_ids import OWN_MAX, PENDING_IDS_MAX, PendingIds
from barnabas.broker.coordinator.group.decisions.classic.states import ClassicGroupState
from barnabas.protocol.errors import ErrorCode
from tests.support.worlds.group import GroupWorld

_STEPS = st.lists(st.tuples(st.sampled_from(["add", "discard", "copy"]), st.integers(0, 99)), max_size=300)


@given(_STEPS)
def test_it_is_a_set_in_order_of_arrival_and_copies_are_apart(steps: list[tuple[str, int]]) -> None:
    ids, model = PendingIds(), dict[str, None]()
    earlier: list[tuple[PendingIds, list[str]]] = []
    for verb, number in steps:
        name = str(number)
        if verb == "copy":
            earlier.append((ids, list(model)))
            ids = ids.copy()
        elif verb == "discard":
            ids.discard(name)
            model.pop(name, None)
        elif name not in ids:
            ids.add(name)
            model[name] = None
        assert list(ids) == list(model)
        assert len(ids) == len(model)
        assert ids == PendingIds(model)
        assert ids.own_changes <= OWN_MAX
    assert all(list(then) == was for then, was in earlier), "a copy changed its original"


def test_a_group_forgets_the_oldest_of_too_many_ids(groups: GroupWorld) -> None:
    first, second, *_ = [groups.join().member_id for _ in range(PENDING_IDS_MAX + 1)]
    group = groups.group()
    assert len(group.pending) == PENDING_IDS_MAX
    assert groups.clock.pending_timers() == PENDING_IDS_MAX + 1, "their sessions, and the expiry of offsets"
    assert groups.join(member_id=first).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert not groups.join(member_id=second).done()


def test_a_join_copies_a_few_of_the_ids_handed_out_before(groups: GroupWorld) -> None:
    for _ in range(PENDING_IDS_MAX + 2 * OWN_MAX):
        groups.join()
        group = groups.group()
        assert group.pending.own_changes <= OWN_MAX


def test_a_group_that_waits_only_for_ids_it_handed_out_takes_any_protocol(groups: GroupWorld) -> None:
    """All members left in a rebalance, and one is still to come that was told its id: the group is not Empty yet."""
    first = groups.join(version=3)
    groups.advance(0)
    first = first.result()
    to_come = groups.join().member_id
    second = groups.join(version=3)
    groups.leave((first.member_id, None), (second_id(groups, first.member_id), None))
    assert second.result().error is ErrorCode.UNKNOWN_MEMBER_ID
    group = groups.group()
    assert (group.state, len(group.members), list(group.pending)) == (
        ClassicGroupState.PREPARING_REBALANCE,
        0,
        [to_come],
    )

    newcomer = groups.join(protocols=[("roundrobin", b"m")])
    assert newcomer.error is ErrorCode.MEMBER_ID_REQUIRED
    assert groups.join(protocol_type="connect").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    joined = [groups.join(member_id=each, protocols=[("roundrobin", b"m")]) for each in (newcomer.member_id, to_come)]
    replies = [each.result() for each in joined]
    assert [each.error for each in replies] == [ErrorCode.NONE] * 2
    assert {each.leader_id for each in replies} == {newcomer.member_id}


def second_id(world: GroupWorld, first_id: str) -> str:
    group = world.group()
    (member_id,) = set(group.members) - {first_id}
    return member_id
