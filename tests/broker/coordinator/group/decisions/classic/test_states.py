"""The table of states is total, and agrees with its diagram."""

from itertools import product

import pytest

from barnabas.broker.coordinator.group.decisions.classic.states import TABLE, ClassicGroupEvent, ClassicGroupState, on
from barnabas.broker.coordinator.runtime.transitions import Go, Never, Say


def test_every_event_has_a_meaning_in_every_state() -> None:
    assert set(TABLE) == set(product(ClassicGroupState, ClassicGroupEvent))


def test_the_transitions_are_those_of_the_diagram() -> None:
    transitions = {(state, meaning.state) for (state, _), meaning in TABLE.items() if isinstance(meaning, Go)}
    empty, preparing, completing, stable, dead = ClassicGroupState
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
    assert all(isinstance(TABLE[ClassicGroupState.DEAD, event], Say | Never) for event in ClassicGroupEvent)


def test_impossible_states_are_asserted() -> None:
    with pytest.raises(AssertionError, match="an empty group has no members"):
        on(ClassicGroupState.EMPTY, ClassicGroupEvent.STATIC_REPLACED)
