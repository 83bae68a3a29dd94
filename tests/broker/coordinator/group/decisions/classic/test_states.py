"""The table of states is total, and agrees with its diagram."""

from itertools import product

import pytest

from barnabas.broker.coordinator.group.decisions.classic.states import TABLE, Event, State, on
from barnabas.broker.coordinator.runtime.transitions import Go, Never, Say


def test_every_event_has_a_meaning_in_every_state() -> None:
    assert set(TABLE) == set(product(State, Event))


def test_the_transitions_are_those_of_the_diagram() -> None:
    transitions = {(state, meaning.state) for (state, _), meaning in TABLE.items() if isinstance(meaning, Go)}
    empty, preparing, completing, stable, dead = State
    assert transitions == {
        (empty, preparing),
        (preparing, completing),
        (preparing, empty),
        (completing, preparing),
        (completing, stable),
        (stable, preparing),
        (empty, dead),
    }


def test_nothing_leaves_dead() -> None:
    assert all(isinstance(TABLE[State.DEAD, event], Say | Never) for event in Event)


def test_what_cannot_happen_is_asserted() -> None:
    with pytest.raises(AssertionError, match="an empty group has no members"):
        on(State.EMPTY, Event.STATIC_REPLACED)
