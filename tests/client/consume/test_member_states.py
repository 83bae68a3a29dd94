"""The states of a member of a consumer group: where it can go, and where it cannot."""

import pytest

from barnabas.client.consume.member_states import IN_GROUP, TRANSITIONS, ConsumerMemberState, MemberEvent, next_state

S, E = ConsumerMemberState, MemberEvent


def walk(*events: MemberEvent) -> ConsumerMemberState:
    state = S.UNSUBSCRIBED
    for event in events:
        state = next_state(state, event)
    return state


JOINED = [E.SUBSCRIBED, E.ASSIGNED]


@pytest.mark.parametrize(
    ("events", "state"),
    [
        ([E.SUBSCRIBED, E.AGREED], S.STABLE),  # there was nothing to assign
        (JOINED, S.RECONCILING),
        ([*JOINED, E.RECONCILED, E.AGREED], S.STABLE),
        ([*JOINED, E.RECONCILED, E.ASSIGNED], S.RECONCILING),  # the answer to what was acknowledged brings more
        ([*JOINED, E.ASSIGNED], S.RECONCILING),  # another assignment before the first was reconciled
        ([*JOINED, E.AGREED], S.STABLE),  # and one that is what is read anyway
        ([*JOINED, E.WAS_FENCED, E.RELEASED, E.AGREED], S.STABLE),
        ([*JOINED, E.WAS_FENCED, E.CLOSED], S.UNSUBSCRIBED),  # there is nothing to leave
        ([*JOINED, E.CLOSED, E.LEFT], S.UNSUBSCRIBED),
        ([E.SUBSCRIBED, E.FAILED], S.FATAL),
    ],
)
def test_a_members_way(events: list[MemberEvent], state: ConsumerMemberState) -> None:
    assert walk(*events) is state


def test_nothing_leads_out_of_a_fatal_state() -> None:
    assert TRANSITIONS[S.FATAL] == {}
    with pytest.raises(AssertionError, match="SUBSCRIBED cannot happen in FATAL"):
        next_state(S.FATAL, E.SUBSCRIBED)


@pytest.mark.parametrize("state", [S.JOINING, S.RECONCILING, S.ACKNOWLEDGING, S.STABLE])
def test_participants_can_be_fenced_refused_and_closed(state: ConsumerMemberState) -> None:
    assert (state in IN_GROUP) is (state is not S.JOINING)
    ends = {event: TRANSITIONS[state][event] for event in (E.WAS_FENCED, E.FAILED, E.CLOSED)}
    assert ends == {E.WAS_FENCED: S.FENCED, E.FAILED: S.FATAL, E.CLOSED: S.LEAVING}


def test_every_state_can_be_come_to() -> None:
    assert {following for ways in TRANSITIONS.values() for following in ways.values()} == set(ConsumerMemberState)
    assert TRANSITIONS.keys() == set(ConsumerMemberState)
