"""The console's form that resets the offsets of a group, and what it refuses in a sentence."""

import pytest

from barnabas.broker.control.time_control.time_text import moment_text
from barnabas.broker.coordinator.group.decisions.classic.model import JoinRequest
from barnabas.broker.coordinator.group.decisions.share.model import ShareHeartbeatRequest
from barnabas.broker.http.console.pages.changes.group_changes import commit
from barnabas.broker.insight.inspection.groups import find_group
from barnabas.protocol.errors import KafkaError
from tests.support.console.world import Console
from tests.support.inspected_broker import Inspected, now
from tests.support.worlds.broker import BrokerWorld
from tests.support.worlds.share_world import ShareWorld

FORM = {"id": "readers", "to": "latest"}
REFUSED, FORBIDDEN, NOT_FOUND, CONFLICT = 400, 403, 404, 409


def offsets_of(world: BrokerWorld, group: str) -> dict[tuple[str, int], int]:
    found = find_group(world.services, group)
    assert found is not None
    return {
        (topic, number): each.offset for topic, numbers in found.offsets.items() for number, each in numbers.items()
    }


async def joined(world: Inspected) -> None:
    """A member of the group."""
    join = JoinRequest("readers", "", None, "c", "/h", 30_000, 30_000, "consumer", (("range", b""),), False, False)
    joining = world.services.groups.join(join)
    world.clock.advance(1)
    await now(joining)


@pytest.fixture
async def world() -> Inspected:
    """Two topics with records of two seconds, and a group that has read some of one of them."""
    world = Inspected(topics={"orders": 2, "other": 1})
    world.append("orders", b"a", b"b", b"c")
    world.clock.advance(1_000)
    world.append("orders", b"d", b"e")
    world.append("orders", b"f", partition=1)
    world.append("other", b"g")
    await world.commit("readers", "orders", 1)
    return world


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"to": "earliest"}, {("orders", 0): 0}),
        ({"to": "latest"}, {("orders", 0): 5}),
        ({"to": "2"}, {("orders", 0): 2}),
        ({"to": "2", "topic": "orders"}, {("orders", 0): 2, ("orders", 1): 1}),
        ({"to": "700"}, {("orders", 0): 5}),
        ({"to": "latest", "topic": "other"}, {("orders", 0): 1, ("other", 0): 1}),
        ({"to": "2100-01-01T00:00:00Z"}, {("orders", 0): 5}),
        ({"to": "1960-01-01"}, {("orders", 0): 0}),
    ],
    ids=lambda value: "-".join(value.values()) if "to" in value else "",
)
async def test_the_offsets_of_a_group_are_reset(
    console: Console, world: Inspected, form: dict[str, str], expected: dict[tuple[str, int], int]
) -> None:
    answer = await console.post("/group/offsets", 303, id="readers", **form)
    assert answer.headers["location"] == "/console/group?id=readers"
    assert offsets_of(world, "readers") == expected


async def test_a_time_is_the_first_record_since_then(console: Console, world: Inspected) -> None:
    await console.post("/group/offsets", 303, id="readers", to=moment_text(world.services.clock.now_ms()))
    assert offsets_of(world, "readers") == {("orders", 0): 3}


@pytest.mark.parametrize(
    ("form", "status", "sentence"),
    [
        ({"id": ""}, REFUSED, "id is missing"),
        ({"to": ""}, REFUSED, "to is missing"),
        ({"to": "soon"}, REFUSED, "to is earliest, latest, an offset, or a time such as 2026-11-24T13:20:00Z"),
        ({"to": "-1"}, REFUSED, "the offset is not between 0 and"),
        ({"topic": "none"}, NOT_FOUND, "there is no topic none"),
        ({"id": "none"}, NOT_FOUND, "there is no group none"),
    ],
)
async def test_a_form_that_makes_no_sense_resets_nothing(
    console: Console, world: Inspected, form: dict[str, str], status: int, sentence: str
) -> None:
    answer = await console.post("/group/offsets", status, **{**FORM, **form})
    assert sentence in answer.text
    assert offsets_of(world, "readers") == {("orders", 0): 1}


async def test_a_group_with_members_is_not_reset(console: Console, world: Inspected) -> None:
    await joined(world)
    answer = await console.post("/group/offsets", CONFLICT, **FORM)
    sentence = "group 'readers' is CompletingRebalance with 1 member: stop them before its offsets are changed"
    assert f"NON_EMPTY_GROUP: {sentence}" in answer.text.replace("&#39;", "'")
    assert offsets_of(world, "readers") == {("orders", 0): 1}


async def test_a_member_that_joins_meanwhile_keeps_its_offsets(console: Console, world: Inspected) -> None:
    """The broker's own refusal, of a commit without membership."""
    await joined(world)
    with pytest.raises(KafkaError, match="UNKNOWN_MEMBER_ID"):
        await commit(world.services, "readers", {("orders", 0): 3})
    assert offsets_of(world, "readers") == {("orders", 0): 1}


async def test_a_share_group_starts_where_it_is_reset_to() -> None:
    world = ShareWorld()
    console = Console(world)
    share = world.services.groups.share
    world.append("t", b"a", b"b", b"c", b"d")
    await now(share.heartbeat(ShareHeartbeatRequest("g", "m", 0, topic_names=("t",))))
    answer = await console.post("/group/offsets", CONFLICT, id="g", to="2", topic="t")
    assert "is Stable with 1 member: stop them" in answer.text
    await now(share.heartbeat(ShareHeartbeatRequest("g", "m", -1)))
    await world.settle()
    await console.post("/group/offsets", 303, id="g", to="2", topic="t")
    assert await world.member().acquire() == [(2, 3, 1)]


async def test_without_control_no_offset_is_reset(world: Inspected) -> None:
    only_look = Console(world, may_change=False)
    await only_look.post("/group/offsets", FORBIDDEN, **FORM)
    assert offsets_of(world, "readers") == {("orders", 0): 1}
    assert 'id="reset-button"' not in await only_look.get("/group", id="readers")
    assert 'id="reset-button"' in await Console(world).get("/group", id="readers")
