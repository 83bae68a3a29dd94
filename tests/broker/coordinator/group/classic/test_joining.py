"""Who may join, in states that few groups are ever in."""

from barnabas.broker.coordinator.group.classic.states import State
from barnabas.protocol.errors import ErrorCode
from tests.support.worlds.group import GroupWorld


def test_a_group_that_waits_only_for_ids_it_handed_out_takes_any_protocol(groups: GroupWorld) -> None:
    """All members left in a rebalance, and one is still to come that was told its id: the group is not Empty yet."""
    first = groups.join(version=3)
    groups.advance(0)
    first = first.result()
    to_come = groups.join().member_id
    second = groups.join(version=3)
    groups.leave((first.member_id, None), (second_id(groups, first.member_id), None))
    assert second.result().error is ErrorCode.UNKNOWN_MEMBER_ID
    group = groups.coordinator.describe("g")
    assert group is not None
    assert (group.state, len(group.members), list(group.pending)) == (State.PREPARING_REBALANCE, 0, [to_come])

    newcomer = groups.join(protocols=[("roundrobin", b"m")])
    assert newcomer.error is ErrorCode.MEMBER_ID_REQUIRED
    assert groups.join(protocol_type="connect").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    joined = [groups.join(member_id=each, protocols=[("roundrobin", b"m")]) for each in (newcomer.member_id, to_come)]
    replies = [each.result() for each in joined]
    assert [each.error for each in replies] == [ErrorCode.NONE] * 2
    assert {each.leader_id for each in replies} == {newcomer.member_id}


def second_id(world: GroupWorld, first_id: str) -> str:
    group = world.coordinator.describe("g")
    assert group is not None
    (member_id,) = set(group.members) - {first_id}
    return member_id
