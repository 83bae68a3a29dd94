"""Faults are armed, listed, waited for, released and taken back."""

import asyncio

import pytest

from barnabas.broker.control.faults.held_requests import BlockedRequest, HoldReason
from barnabas.broker.control.faults.model import (
    FAULTS_MAX,
    Fault,
    FaultPlan,
    FaultRefused,
    Often,
    RequestAction,
    RequestMatch,
)
from barnabas.broker.control.faults.registry import FaultRegistry, NoSuchFault, NotInTime
from barnabas.broker.runtime.events import Events
from tests.support.virtual_clock import VirtualClock
from tests.support.worlds.broker import turn


def fault(name: str = "", often: Often | None = None) -> Fault:
    told = {"match": {}, "do": {"pause": True}}
    return Fault(
        name=name, match=RequestMatch(), action=RequestAction(pause=True), often=often or Often(), definition=told
    )


@pytest.fixture
async def registry() -> FaultRegistry:
    return FaultRegistry(asyncio.get_running_loop(), VirtualClock(), Events())


async def test_names_are_given_and_are_unique(registry: FaultRegistry) -> None:
    armed = registry.arm(FaultPlan((fault("fault-1"), fault(), fault())))
    assert [each.name for each in armed] == ["fault-1", "fault-2", "fault-3"]
    with pytest.raises(FaultRefused, match=r"^a fault fault-2 exists already$"):
        registry.arm(FaultPlan((fault("new"), fault("fault-2"))))
    with pytest.raises(FaultRefused, match=r"^a fault twice exists already$"):
        registry.arm(FaultPlan((fault("twice"), fault("twice"))))
    assert [each.name for each in registry.every()] == ["fault-1", "fault-2", "fault-3"], "all of a plan or nothing"


async def test_no_more_are_armed_than_there_may_be(registry: FaultRegistry) -> None:
    registry.arm(FaultPlan(tuple(fault() for _ in range(FAULTS_MAX))))
    with pytest.raises(FaultRefused, match="200 faults are armed, and at most 200 can be"):
        registry.arm(FaultPlan((fault(),)))
    assert registry.reset() == FAULTS_MAX
    registry.arm(FaultPlan((fault(),)))


async def test_a_missing_resource_is_reported(registry: FaultRegistry) -> None:
    with pytest.raises(NoSuchFault, match=r"^there is no fault 'x': none is armed$"):
        registry.get("x")
    registry.arm(FaultPlan((fault("a"), fault("b"))))
    with pytest.raises(NoSuchFault, match=r"^there is no fault 'x': there are a, b$"):
        registry.disarm("x")


async def test_listeners_hear_of_other_live_faults(registry: FaultRegistry) -> None:
    heard: list[list[str]] = []
    registry.listen(lambda: heard.append([each.name for each in registry.live]))
    (first, _) = registry.arm(FaultPlan((fault("a"), fault("b", Often(times=2)))))
    assert first.chances.fires()
    registry.fired(first, "pause", {})
    registry.disarm("b")
    assert heard == [[], ["a", "b"], ["b"], []]


async def test_a_wait_ends_when_a_fault_has_fired_the_given_times(registry: FaultRegistry) -> None:
    (armed,) = registry.arm(FaultPlan((fault("a", Often(times=2)),)))
    waiting = asyncio.ensure_future(registry.wait_fired("a", 2, 30))
    for _ in range(2):
        await turn()
        assert not waiting.done()
        assert armed.chances.fires()
        registry.fired(armed, "pause", {})
    assert await waiting is armed
    assert await registry.wait_fired("a", 1, 0) is armed, "it has already"


async def test_waiting_ends_in_time_and_states_how_far_it_came(registry: FaultRegistry) -> None:
    (armed,) = registry.arm(FaultPlan((fault("a"),)))
    with pytest.raises(NotInTime, match=r"^fault a has fired 0 of 1 times in 0\.01 s$"):
        await registry.wait_fired("a", 1, 0.01)
    armed.hold(HoldReason.PAUSED, BlockedRequest(0))
    with pytest.raises(NotInTime, match=r"^1 of 2 are paused by fault a after 0\.01 s$"):
        await registry.wait_standing("a", 2, 0.01)


async def test_waiting_for_a_fault_ends_when_it_is_disarmed(registry: FaultRegistry) -> None:
    registry.arm(FaultPlan((fault("a"),)))
    waiting = asyncio.ensure_future(registry.wait_standing("a", 1, 30))
    await turn()
    registry.reset()
    with pytest.raises(NoSuchFault, match="fault a was disarmed"):
        await waiting


async def test_which_did_not_fire_as_often_as_they_were_to(registry: FaultRegistry) -> None:
    armed = registry.arm(FaultPlan((fault("once"), fault("twice", Often(times=2)), fault("always", Often(times=None)))))
    assert registry.unfired() == ["once", "twice", "always"]
    for each in armed:
        assert each.chances.fires()
    assert registry.unfired() == ["twice"]


async def test_held_requests_are_released_when_a_fault_is_removed(registry: FaultRegistry) -> None:
    (armed,) = registry.arm(FaultPlan((fault("a"),)))
    paused, unanswered = (
        armed.hold(HoldReason.PAUSED, BlockedRequest(0)),
        armed.hold(HoldReason.UNANSWERED, BlockedRequest(0), 1000),
    )
    assert (armed.standing, registry.release("a")) == (1, 1)
    assert (paused.done(), unanswered.done()) == (True, False)
    registry.disarm("a")
    assert unanswered.done()
    assert not armed.is_holding
    assert armed.hold(HoldReason.PAUSED, BlockedRequest(0)).done(), "one that is taken back holds nothing up"


async def test_a_broker_that_stops_arms_none(registry: FaultRegistry) -> None:
    registry.arm(FaultPlan((fault("a"),)))
    registry.close()
    assert registry.every() == []
    with pytest.raises(FaultRefused, match="the broker stops"):
        registry.arm(FaultPlan((fault("a"),)))


async def test_a_fault_that_fires_all_the_time_fills_no_log(
    registry: FaultRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "barnabas.faults")
    (armed,) = registry.arm(FaultPlan((fault("a", Often(times=None)),)))
    for _ in range(1000):
        assert armed.chances.fires()
        registry.fired(armed, "pause", {})
    assert len(caplog.records) == 1 + 100 + 1
