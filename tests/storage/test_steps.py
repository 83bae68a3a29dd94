"""Work in steps: where it pauses."""

from barnabas.storage.steps import AT_ONCE, Pauses


def test_a_pause_is_due_behind_each_hundred_small_things_however_they_are_counted() -> None:
    pauses = Pauses()
    assert [number for number in range(1, 251) if pauses.is_due()] == [AT_ONCE, 2 * AT_ONCE]
    several = Pauses()
    assert [several.is_due(40) for _ in range(6)] == [False, False, True, False, False, True]
