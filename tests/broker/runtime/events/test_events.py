"""Events are told to whoever listens, and cost nothing where nobody does."""

import asyncio
from asyncio import Future

import pytest

from barnabas.broker.runtime.events import KINDS, EventKind, Events
from barnabas.broker.runtime.events.events import Facts

WHAT = EventKind("a.b", "something", ("number",))
PAUSED = EventKind("a.c", "something", (), may_pause=True)


def test_names_are_those_of_the_table() -> None:
    assert all(name == kind.name for name, kind in KINDS.items())
    assert all(kind.what and kind.name.count(".") == 1 for kind in KINDS.values())


def test_listeners_receive_events_in_order_until_they_stop() -> None:
    told: list[tuple[str, str, object]] = []

    def first(kind: EventKind, facts: Facts) -> None:
        told.append(("first", kind.name, facts["number"]))

    def second(kind: EventKind, facts: Facts) -> None:
        told.append(("second", kind.name, facts["number"]))

    events = Events()
    assert not events.is_on
    events.listen(first)
    events.listen(second)
    assert events.is_on
    assert events.emit(WHAT, {"number": 1}) is None
    events.stop_listening(first)
    events.emit(WHAT, {"number": 2})
    events.stop_listening(second)
    assert not events.is_on
    assert told == [("first", "a.b", 1), ("second", "a.b", 1), ("second", "a.b", 2)]


async def test_a_pausable_step_waits_for_all_its_holders() -> None:
    held: list[Future[None]] = [asyncio.get_running_loop().create_future() for _ in range(2)]
    events = Events()
    events.listen(lambda kind, facts: held[0])
    assert events.emit(PAUSED, {}) is held[0]
    events.listen(lambda kind, facts: held[1])
    both = events.emit(PAUSED, {})
    assert both is not None
    held[0].set_result(None)
    assert not both.done()
    held[1].set_result(None)
    await both


async def test_an_uninterruptible_step_is_not_paused() -> None:
    events = Events()
    held: Future[None] = asyncio.get_running_loop().create_future()
    events.listen(lambda kind, facts: held)
    with pytest.raises(AssertionError, match=r"a\.b cannot be held up"):
        events.emit(WHAT, {})
