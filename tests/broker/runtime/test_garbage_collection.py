"""What a broker does about Python's garbage collector in a process of its own, and that it does nothing in others'."""

import gc
import sys
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from barnabas import Barnabas
from barnabas.broker.runtime.garbage_collection import (
    FULL_AT_LEAST_EVERY_MS,
    FULL_EVERY_MS,
    QUIET_MS,
    GarbageCollection,
    collections_paused,
)
from tests.support.processes.program import Program
from tests.support.virtual_clock import VirtualClock

_SERVED = """
import gc, sys
from barnabas.broker.cli.serving.serve import run

status = run(sys.argv[1:])
print("frozen", gc.get_freeze_count() > 1_000 and len(gc.callbacks))
sys.exit(status)
"""


class _Thing:
    """Something that can be part of a cycle."""

    def __init__(self) -> None:
        self.other: object = None


def _cycle() -> _Thing:
    thing = _Thing()
    thing.other = [thing]
    return thing


def _is_looked_at(thing: _Thing) -> bool:
    return any(each is thing for each in gc.get_objects())


@pytest.fixture
def clock() -> Iterator[VirtualClock]:
    """Of a broker whose process this is."""
    gc.collect()
    gc.disable()  # only what a test asks for is collected
    clock = VirtualClock()
    collection = GarbageCollection(clock)
    collection.start()
    yield clock
    collection.stop()
    gc.freeze()  # as the tests were before: tests/conftest.py
    gc.enable()
    assert clock.pending_timers() == 0


def test_objects_from_the_start_are_not_traversed(clock: VirtualClock) -> None:
    assert gc.get_freeze_count() > 1_000


def test_survivors_of_a_middle_collection_are_not_traversed_again(clock: VirtualClock) -> None:
    thing = _cycle()
    gc.collect(0)
    assert _is_looked_at(thing)
    gc.collect(1)
    assert not _is_looked_at(thing)


def test_a_cycle_that_is_given_up_before_is_freed(clock: VirtualClock) -> None:
    thing = weakref.ref(_cycle())
    assert thing() is not None
    gc.collect(1)
    assert thing() is None


def test_acyclic_objects_are_freed_at_once(clock: VirtualClock) -> None:
    thing = _Thing()
    gc.collect(1)
    gone = weakref.ref(thing)
    del thing
    assert gone() is None


def _given_up_late() -> weakref.ref[_Thing]:
    """A cycle that is given up when it is frozen already."""
    thing = _cycle()
    gc.collect(1)
    return weakref.ref(thing)


def test_a_cycle_given_up_late_is_freed_once_nothing_goes_on(clock: VirtualClock) -> None:
    thing = _given_up_late()
    gc.collect()
    assert thing() is not None
    clock.advance(FULL_EVERY_MS + QUIET_MS)
    assert thing() is None


def test_a_broker_at_work_is_not_held_up_more_than_once_a_day(clock: VirtualClock) -> None:
    thing = _given_up_late()
    clock.advance(FULL_EVERY_MS)
    while clock.monotonic() * 1000 < FULL_AT_LEAST_EVERY_MS - 2 * QUIET_MS:
        gc.collect(0)  # as happens by itself where objects are made
        clock.advance(QUIET_MS)
    assert thing() is not None
    for _ in range(3):
        gc.collect(0)
        clock.advance(QUIET_MS)
    assert thing() is None


def test_a_served_broker_has_its_process_to_itself(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _SERVED, "--port", "0", "--data-dir", str(tmp_path / "data")]
    with Program(command) as program:
        program.line("barnabas ready")
        assert program.stop() == 0
        assert program.lines[-1] == "frozen 1"


def test_a_broker_in_a_foreign_process_leaves_its_collector_alone() -> None:
    frozen, before = gc.get_freeze_count(), (gc.get_threshold(), gc.isenabled(), list(gc.callbacks))
    with Barnabas(in_process=True) as broker:
        assert broker.bootstrap_servers
        assert (gc.get_threshold(), gc.isenabled(), list(gc.callbacks)) == before
        assert frozen - 1_000 < gc.get_freeze_count() <= frozen  # some of what was frozen may be over by now


def test_the_collector_pauses_and_is_as_before_afterwards() -> None:
    with suppress(ValueError), collections_paused():  # raised below: the block may end by an error
        assert not gc.isenabled()
        with collections_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise ValueError
    assert gc.isenabled()
