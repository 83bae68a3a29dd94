"""The ranges of a state after a change, against a model that has each offset by itself."""

import random
from itertools import pairwise

import pytest

from barnabas.broker.coordinator.share.decisions.batches import in_order, merged
from barnabas.broker.partitions.share.persister import NOT_STARTED, StateBatch

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


def ranges(*given: tuple[int, int, int, int]) -> tuple[StateBatch, ...]:
    return tuple(map(StateBatch._make, given))


@pytest.mark.parametrize(
    ("so_far", "new", "start_offset", "after"),
    [
        ([], [(0, 9, 2, 1)], 0, [(0, 9, 2, 1)]),
        ([(0, 9, 0, 1)], [], 0, [(0, 9, 0, 1)]),
        ([(0, 9, 0, 1)], [(0, 9, 2, 2)], 0, [(0, 9, 2, 2)]),
        ([(0, 9, 0, 1)], [(3, 5, 2, 2)], 0, [(0, 2, 0, 1), (3, 5, 2, 2), (6, 9, 0, 1)]),
        ([(0, 9, 0, 1)], [(5, 14, 2, 2)], 0, [(0, 4, 0, 1), (5, 14, 2, 2)]),
        ([(5, 14, 0, 3)], [(0, 9, 2, 2)], 0, [(0, 4, 2, 2), (5, 14, 0, 3)]),
        ([(0, 4, 2, 1)], [(5, 9, 2, 1)], 0, [(0, 9, 2, 1)]),
        ([(0, 4, 2, 1), (10, 14, 2, 1)], [(5, 9, 2, 1)], 0, [(0, 14, 2, 1)]),
        ([(0, 4, 2, 1)], [(5, 9, 2, 2)], 0, [(0, 4, 2, 1), (5, 9, 2, 2)]),
        ([(0, 9, 4, 1)], [(0, 9, 2, 1)], 0, [(0, 9, 4, 1)]),
        ([(0, 9, 0, 1)], [(20, 29, 2, 1)], 5, [(5, 9, 0, 1), (20, 29, 2, 1)]),
        ([(0, 9, 0, 1)], [(20, 29, 2, 1)], 10, [(20, 29, 2, 1)]),
        ([(0, 9, 0, 1)], [(5, 4, 2, 2)], 0, [(0, 9, 0, 1)]),
        ([(3, 9, 0, 1)], [], NOT_STARTED, [(3, 9, 0, 1)]),
    ],
)
def test_a_change_is_put_over_the_ranges_so_far(
    so_far: list[tuple[int, int, int, int]],
    new: list[tuple[int, int, int, int]],
    start_offset: int,
    after: list[tuple[int, int, int, int]],
) -> None:
    assert merged(ranges(*so_far), ranges(*new), start_offset) == ranges(*after)


def test_ranges_of_unknown_origin_are_put_in_order() -> None:
    assert in_order(ranges((5, 9, 2, 1), (0, 4, 0, 1))) == ranges((0, 4, 0, 1), (5, 9, 2, 1))
    assert in_order(ranges((0, 4, 0, 1), (3, 9, 2, 1))) == ranges((0, 2, 0, 1), (3, 9, 2, 1))
    assert in_order(ranges((0, 4, 2, 1), (5, 9, 2, 1))) == ranges((0, 4, 2, 1), (5, 9, 2, 1))


def random_ranges(dice: random.Random) -> list[StateBatch]:
    found = []
    for _ in range(dice.randrange(6)):
        first = dice.randrange(40)
        found.append(StateBatch(first, first + dice.randrange(8), dice.choice([0, 2, 3, 4]), dice.randrange(1, 4)))
    return found


def by_offset(batches: list[StateBatch], start_offset: int) -> dict[int, tuple[int, int]]:
    """The strongest state of each offset: its delivery count and state."""
    found: dict[int, tuple[int, int]] = {}
    for first, last, state, count in batches:
        for offset in range(max(first, start_offset), last + 1):
            found[offset] = max(found.get(offset, (0, 0)), (count, state))
    return found


@pytest.mark.parametrize("seed", range(200))
def test_many_changes_leave_each_offset_in_its_strongest_state(seed: int) -> None:
    dice = random.Random(seed)
    state: tuple[StateBatch, ...] = ()
    given: list[StateBatch] = []
    start_offset = 0
    for _ in range(12):
        new = random_ranges(dice)
        start_offset += dice.randrange(3)
        given = [*given, *new]
        state = merged(state, new, start_offset)
        assert all(one.last_offset < other.first_offset for one, other in pairwise(state))
        assert by_offset(list(state), start_offset) == by_offset(given, start_offset)
