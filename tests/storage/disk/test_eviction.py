"""The bound on open files and loaded indexes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.disk.eviction import EvictionPool


class Member:
    def __init__(self, *, stubborn: bool = False) -> None:
        self.recently_used = False
        self.stubborn = stubborn
        self.evictions = 0

    def evict(self) -> bool:
        self.evictions += not self.stubborn
        return not self.stubborn


@pytest.mark.parametrize(("used", "evictions"), [([], [1, 0, 0]), ([0], [0, 1, 0])])
def test_the_oldest_goes_and_a_used_one_is_passed_over_once(used: list[int], evictions: list[int]) -> None:
    bound, members = EvictionPool(2), [Member() for _ in range(3)]
    for number, member in enumerate(members[:2]):
        bound.admit(member)
        member.recently_used = number in used
    bound.admit(members[2])
    assert [member.evictions for member in members] == evictions


def test_when_all_were_used_one_goes_anyway() -> None:
    bound, members = EvictionPool(3), [Member() for _ in range(4)]
    for member in members:
        bound.admit(member)
    assert sum(member.evictions for member in members) == 1
    assert len(bound) == 3


def test_a_member_that_cannot_go_stays_and_the_bound_gives_way() -> None:
    bound, stubborn = EvictionPool(1), Member(stubborn=True)
    bound.admit(stubborn)
    bound.admit(Member())
    assert len(bound) == 2
    assert stubborn.evictions == 0


def test_a_heavy_member_pushes_several_out() -> None:
    bound, light = EvictionPool(10), [Member() for _ in range(10)]
    for member in light:
        bound.admit(member)
    bound.admit(Member(), 7)
    assert (bound.weight, sum(member.evictions for member in light)) == (10, 7)


def test_evict_all_leaves_only_the_stubborn() -> None:
    bound, stubborn = EvictionPool(5), Member(stubborn=True)
    for member in (Member(), stubborn, Member()):
        bound.admit(member)
    bound.evict_all()
    assert (len(bound), bound.weight) == (1, 1)


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["admit", "use", "discard"]), st.integers(1, 4))))
def test_the_weights_never_exceed_the_limit(steps: list[tuple[int, str, int]]) -> None:
    bound, members = EvictionPool(8), [Member() for _ in range(10)]
    weights: dict[int, int] = {}
    for index, step, weight in steps:
        if step == "admit":
            bound.admit(members[index], weight)
            weights[index] = weight
        elif step == "use":
            members[index].recently_used = True
        else:
            bound.discard(members[index])
        assert 0 <= bound.weight <= 8
