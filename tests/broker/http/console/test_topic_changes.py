"""The console's forms for topics: created, changed and deleted, and what is refused in a sentence."""

import pytest

from tests.support.console.world import Console
from tests.support.inspected_broker import Inspected

REFUSED, CONFLICT, NOT_FOUND, FORBIDDEN = 400, 409, 404, 403


async def test_a_topic_is_created_changed_and_deleted(console: Console, world: Inspected) -> None:
    topics = world.services.catalogue.topics
    answer = await console.post("/topics", 303, name="new", partitions="3")
    assert answer.headers["location"] == "/console/topics/new"
    assert len(topics["new"].partitions) == 3
    await console.post("/topics", 303, name="by-default")
    assert len(topics["by-default"].partitions) == 1

    await console.post("/topics/new/settings", 303, key="retention.ms", value="1000")
    await console.post("/topics/new/settings", 303, key="cleanup.policy", value="compact")
    assert topics["new"].configs == {"retention.ms": "1000", "cleanup.policy": "compact"}
    await console.post("/topics/new/settings", 303, key="retention.ms", how="remove")
    assert topics["new"].configs == {"cleanup.policy": "compact"}

    await console.post("/topics/new/partitions", 303, total="5")
    assert len(topics["new"].partitions) == 5
    answer = await console.post("/topics/new/delete", 303, confirmation="new")
    assert answer.headers["location"] == "/console/topics"
    assert "new" not in topics


@pytest.mark.parametrize(
    ("path", "form", "status", "sentence"),
    [
        ("/topics", {}, REFUSED, "name is missing"),
        ("/topics", {"name": "a b"}, REFUSED, "INVALID_TOPIC_EXCEPTION: "),
        ("/topics", {"name": "orders"}, REFUSED, "TOPIC_ALREADY_EXISTS: "),
        ("/topics", {"name": "n", "partitions": "0"}, REFUSED, "INVALID_PARTITIONS: "),
        ("/topics", {"name": "n", "partitions": "10001"}, REFUSED, "partitions is not between -1 and 10000"),
        ("/topics", {"name": "n", "partitions": "many"}, REFUSED, "partitions is no whole number"),
        ("/topics/orders/partitions", {"total": "2"}, REFUSED, "INVALID_PARTITIONS: "),
        ("/topics/orders/partitions", {}, REFUSED, "total is not between 1 and 10000"),
        ("/topics/orders/settings", {"value": "x"}, REFUSED, "key is missing"),
        (
            "/topics/orders/settings",
            {"key": "retention.mss", "value": "1"},
            REFUSED,
            "topics have no setting retention.mss: did you mean retention.ms?",
        ),
        ("/topics/orders/settings", {"key": "retention.ms", "value": "soon"}, REFUSED, "INVALID_CONFIG: "),
        ("/topics/orders/settings", {"key": "retention.ms", "how": "x"}, REFUSED, "how is one of set, remove"),
        ("/topics/orders/delete", {}, CONFLICT, "nothing was deleted: type orders to confirm it"),
        (
            "/topics/orders/delete",
            {"confirmation": "order"},
            CONFLICT,
            "nothing was deleted: type orders to confirm it",
        ),
        ("/topics/none/delete", {"confirmation": "none"}, NOT_FOUND, "there is no topic none"),
    ],
)
async def test_what_cannot_be_done_is_said_and_changes_nothing(
    console: Console, world: Inspected, path: str, form: dict[str, str], status: int, sentence: str
) -> None:
    topics = world.services.catalogue.topics
    before = dict(topics)
    answer = await console.post(path, status, **form)
    assert sentence in answer.text.replace("&#39;", "'")
    assert dict(topics) == before


async def test_internal_topics_are_not_changed(console: Console, world: Inspected) -> None:
    name = world.services.catalogue.create_internal_topic("__consumer_offsets").name
    for path, form in (("delete", {"confirmation": name}), ("partitions", {"total": "60"})):
        answer = await console.post(f"/topics/{name}/{path}", REFUSED, **form)
        assert f"{name} is an internal topic: only the broker changes it" in answer.text
    assert "delete-button" not in await console.get(f"/topics/{name}")
    assert "delete-button" in await console.get("/topics/orders")


async def test_without_control_there_is_nothing_to_change(world: Inspected) -> None:
    only_look = Console(world, may_change=False)
    for path in ("/topics", "/topics/orders/delete", "/topics/orders/partitions", "/topics/orders/settings"):
        await only_look.post(path, FORBIDDEN, name="new", confirmation="orders", total="9", key="retention.ms")
    assert set(world.services.catalogue.topics) == {"orders"}
    for path in ("/topics", "/topics/orders"):
        assert 'method="post"' not in await only_look.get(path)
