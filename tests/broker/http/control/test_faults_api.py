"""/control/faults over a whole broker in memory, held against its own description."""

import asyncio
from typing import Any

import pytest

from barnabas.broker.control.faults.armed import Armed
from barnabas.broker.control.faults.held_requests import BlockedRequest, HoldReason
from barnabas.broker.http.control.admission import Admission
from tests.broker.http.control.test_application import Control, check
from tests.support.worlds.broker import BrokerWorld, settle

PATH = "/control/faults"
LOST = {"name": "lost", "match": {"api": "EndTxn"}, "do": {"lose_answer": True}}
PAUSE = {"name": "stop here", "match": {"api": "EndTxn"}, "do": {"pause": True}, "times": "always"}


@pytest.fixture
async def control() -> Control:
    world = BrokerWorld(movable=True)
    return Control(world, Admission())


async def arm(control: Control, body: Any) -> Any:
    check(body, {"$ref": "#/components/schemas/PlanOrFault"})
    status, found = await control.ask("POST", PATH, json=body)
    assert status == 200, found
    return found


def armed(control: Control, name: str) -> Armed:
    return control.world.broker.faults.get().registry.get(name)


def fire(control: Control, name: str) -> None:
    each = armed(control, name)
    assert each.chances.fires()
    control.world.broker.faults.get().registry.fired(each, "x", {})


async def test_a_fault_is_armed_listed_and_taken_back(control: Control) -> None:
    state = {**LOST, "times": 1, "matched": 0, "fired": 0, "standing": 0}
    assert await arm(control, LOST) == {"faults": [state], "unfired": ["lost"]}
    assert await control.ask("GET", PATH) == (200, {"faults": [state], "unfired": ["lost"]})
    assert await control.ask("GET", f"{PATH}/lost") == (200, state)
    fire(control, "lost")
    assert await control.ask("DELETE", f"{PATH}/lost") == (200, {**state, "matched": 1, "fired": 1})
    assert await control.ask("GET", PATH) == (200, {"faults": [], "unfired": []})


async def test_a_plan_is_armed_and_all_is_taken_back_with_what_did_not_fire(control: Control) -> None:
    found = await arm(control, {"version": 1, "seed": 7, "faults": [LOST, {**LOST, "name": "other"}]})
    assert [each["name"] for each in found["faults"]] == ["lost", "other"]
    fire(control, "other")
    status, found = await control.ask("DELETE", PATH)
    assert (status, [each["fired"] for each in found["faults"]], found["unfired"]) == (200, [0, 1], ["lost"])
    assert (await control.ask("GET", PATH))[1]["faults"] == []


async def test_one_waits_until_a_fault_has_fired(control: Control) -> None:
    await arm(control, {**LOST, "times": 2})
    waiting = asyncio.ensure_future(control.ask("GET", f"{PATH}/lost?wait_fired=2&timeout=30s"))
    for _ in range(2):
        await settle()
        assert not waiting.done()
        fire(control, "lost")
    status, found = await waiting
    assert (status, found["fired"]) == (200, 2)
    status, found = await control.ask("GET", f"{PATH}/lost?wait_fired=3&timeout=1ms")
    assert (status, found) == (504, {"error": "fault lost has fired 2 of 3 times in 0.001 s"})


async def test_one_waits_until_somebody_stands_at_a_pause_and_lets_it_go(control: Control) -> None:
    await arm(control, {**PAUSE, "name": "p"})
    waiting = asyncio.ensure_future(control.ask("GET", f"{PATH}/p?wait_standing=1"))
    await settle()
    held = armed(control, "p").hold(HoldReason.PAUSED, BlockedRequest(0))
    assert (await waiting)[1]["standing"] == 1
    status, found = await control.ask("POST", f"{PATH}/p/release")
    assert (status, found["standing"], held.done()) == (200, 0, True)


@pytest.mark.parametrize(
    ("method", "path", "status", "why"),
    [
        ("GET", f"{PATH}/x", 404, "there is no fault 'x': there are lost"),
        ("DELETE", f"{PATH}/x", 404, "there is no fault 'x'"),
        ("POST", f"{PATH}/x/release", 404, "there is no fault 'x'"),
        ("GET", f"{PATH}/x?wait_fired=1", 404, "there is no fault 'x'"),
        ("GET", f"{PATH}/lost?wait_fired=0", 400, "wait_fired is a whole number from 1 to 1000000000, not '0'"),
        ("GET", f"{PATH}/lost?wait_fired=1&wait_standing=1", 400, "wait_fired and wait_standing exclude each other"),
        ("GET", f"{PATH}/lost?wait_fired=1&timeout=soon", 400, "timeout is a length of time such as 500ms or 10s"),
        ("GET", f"{PATH}/lost?wait_fired=1&timeout=2h", 400, "timeout is 60s at most, not '2h': ask again"),
    ],
)
async def test_invalid_input_is_refused(control: Control, method: str, path: str, status: int, why: str) -> None:
    await arm(control, LOST)
    found = await control.ask(method, path)
    assert found[0] == status
    assert why in found[1]["error"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "this is not JSON"),
        (b'{"match": {"api": "EndTxn", "topic": "t"}, "do": {"drop": true}}', "EndTxn names no topic"),
        (b'{"match": {"node": 2}, "do": {"drop": true}}', "there is no node 2, there is 1"),
        (b'{"match": {"listener": "X"}, "do": {"drop": true}}', "listener is one of PLAINTEXT, not 'X'"),
        (b'{"match": {"point": "x"}, "do": {"crash": true}}', "a point is one of "),
        (b'{"name": "lost", "match": {}, "do": {"drop": true}}', "a fault lost exists already"),
    ],
)
async def test_a_fault_that_is_invalid_is_refused(control: Control, body: bytes, why: str) -> None:
    await arm(control, LOST)
    status, found = await control.ask("POST", PATH, content=body)
    assert status == 400
    assert why in found["error"]
    assert len((await control.ask("GET", PATH))[1]["faults"]) == 1


async def test_waiters_are_answered_when_the_broker_stops(control: Control) -> None:
    await arm(control, LOST)
    waiting = asyncio.ensure_future(control.ask("GET", f"{PATH}/lost?wait_fired=1&timeout=30s"))
    await settle()
    await control.world.close()
    assert await waiting == (404, {"error": "fault lost was disarmed"})
    assert (await control.ask("POST", PATH, json=LOST))[1] == {"error": "the broker stops"}
