"""/control/why over a whole broker in memory: questions and answers as the description has them."""

from typing import Any

import pytest

from barnabas.broker.http.control.admission import Admission
from tests.broker.http.control.test_application import Control
from tests.support.inspected_broker import Inspected


class Movable(Inspected):
    """With the clock that the other routes need."""

    async def asked(self, about: str) -> tuple[int, Any]:
        return await Control(self, Admission()).ask("GET", f"/control/why{about}")


@pytest.fixture
async def world() -> Movable:
    world = Movable(movable=True)
    world.services.catalogue.create_topic("t", 2)
    return world


async def test_each_question_is_answered(world: Movable) -> None:
    assert await world.asked("") == (200, {})
    await world.begin("tx", ("t", 0))
    await world.commit("g", "t", 0)
    for about, begins in (
        ("/consumer?group=g", "t-0: consumers with isolation.level=read_committed stop at offset 0"),
        ("/consumer?group=g&topic=u", "There is no topic u."),
        ("/producer?transactional_id=tx", "Transactional id tx has a transaction in t-0"),
        ("/record?topic=t&partition=0&offset=0", "Offset 0 of t-0 is open"),
        ("/group?group=g", "Group g has no members"),
        ("/group?group=a%20%26%0Ab", r"There is no group a &\nb"),
    ):
        status, found = await world.asked(about)
        assert status == 200
        assert found["sentences"][0].startswith(begins), found
        assert isinstance(found["evidence"], dict)
    assert await world.asked("") == (200, {})  # the transaction has just begun
    status, found = await world.asked("?longer_than_ms=0")
    assert (status, sorted(found)) == (200, ["consumer g", "transactional id tx"])


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ("/consumer", "group is missing: ?group=…"),
        ("/consumer?group=", "group is empty"),
        ("/consumer?group=g&group=h", "group is given twice"),
        ("/consumer?grup=g", "there is no parameter 'grup' here: did you mean group?"),
        ("/producer", "transactional_id is missing: ?transactional_id=…"),
        ("/record?topic=t", "partition and offset are missing: ?partition=…"),
        ("/record?topic=t&partition=-1&offset=0", "partition '-1' is not a number of 0 or more"),
        ("/record?topic=t&partition=0&offset=first", "offset 'first' is not a number of 0 or more"),
        ("/record?topic=t&partition=0&offset=99999999999999999999", "is not a number of 0 or more"),
        ("/record?topic=t&partition=0&offset=9223372036854775808", "is not a number of 0 or more"),
        ("/record?topic=t&partition=%D9%A3&offset=0", "is not a number of 0 or more"),
    ],
)
async def test_bad_input_is_answered_with_one_sentence(world: Movable, about: str, why: str) -> None:
    status, found = await world.asked(about)
    assert status == 400
    assert why in found["error"]


async def test_a_long_id_is_refused_in_a_sentence(world: Movable) -> None:
    await world.init("tx")
    await world.commit("g", "t", 0)
    long = "x" * 40_000
    for about in (f"/group?group={long}", f"/consumer?group={long}", f"/producer?transactional_id={long}"):
        status, found = await world.asked(about)
        assert status == 200
        assert "is longer than" in found["sentences"][0]
        assert len(found["sentences"][0]) < 300


async def test_a_query_during_a_stop_gets_a_shutdown_error(world: Movable) -> None:
    await world.commit("g", "t", 0)
    for _ in range(22_000):
        world.append("t", b"v")
    world.services.request_scheduler.close()
    assert await world.asked("/consumer?group=g") == (503, {"error": "the broker stops"})
