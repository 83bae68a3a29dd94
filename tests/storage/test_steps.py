"""Work in steps: where it pauses."""

import pytest

from barnabas.storage.steps import AT_ONCE, Pauses, Steps, decided


def test_a_pause_is_due_behind_each_hundred_small_things_however_they_are_counted() -> None:
    pauses = Pauses()
    assert [number for number in range(1, 251) if pauses.is_due()] == [AT_ONCE, 2 * AT_ONCE]
    several = Pauses()
    assert [several.is_due(40) for _ in range(6)] == [False, False, True, False, False, True]
    short = Pauses(3)
    assert [number for number in range(1, 8) if short.is_due()] == [3, 6]


def test_a_stepwise_decision_is_repeated_until_the_state_is_unchanged() -> None:
    things: list[str] = []

    def decide() -> Steps[list[str]]:
        seen = list(things)
        yield
        return seen

    steps = decided(decide, lambda: len(things))
    for thing in ("one", "two"):
        next(steps)
        things.append(thing)
    next(steps)
    with pytest.raises(StopIteration) as over:
        next(steps)
    assert over.value.value == ["one", "two"]
