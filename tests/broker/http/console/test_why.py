"""The page that says why something hangs, over a whole broker in memory."""

from barnabas.broker.insight.why.hanging import LONGER_THAN_MS
from tests.support.console.world import Console, world_of

MARKUP = "<u>tx</u>"


async def hang(console: Console) -> None:
    world = world_of(console)
    await world.begin(MARKUP, ("orders", 0))
    await world.commit("readers", "orders", 0)
    world.clock.advance(LONGER_THAN_MS)


async def test_a_hanging_transaction_is_reported_with_a_link_to_its_page(console: Console) -> None:
    assert "Nothing hangs" in await console.text("/why")
    await hang(console)
    html = await console.get("/why")
    assert "/console/transaction?id=%3Cu%3Etx%3C%2Fu%3E" in html
    assert "/console/group?id=readers" in html
    assert MARKUP not in html
    assert "has a transaction in orders-0: it is Ongoing" in html


async def test_each_question_has_an_address_and_an_answer_with_evidence(console: Console) -> None:
    await hang(console)
    text = await console.text("/why", ask="consumer", group="readers", topic="orders")
    assert "Consumers of group readers on orders orders-0: consumers with isolation.level=read_committed stop" in text
    assert "&#34;group" in text
    assert "it is Ongoing" in await console.text("/why", ask="producer", transactional_id=MARKUP)
    assert "The rebalance of group readers Group readers" in await console.text("/why", ask="group", group="readers")
    assert "Offset 0 of orders-0 is open" in await console.text("/why", ask="record", record="orders:0:0")


async def test_a_question_that_is_not_understood_is_refused_in_a_sentence(console: Console) -> None:
    assert "group is missing" in await console.text("/why", 400, ask="consumer")
    assert "a record is TOPIC:PARTITION:OFFSET" in await console.text("/why", 400, ask="record", record="orders-0")
    assert "the offset is no whole number" in await console.text("/why", 400, ask="record", record="orders:0:x")
    assert "ask is one of hanging" in await console.text("/why", 400, ask="what")


async def test_without_control_a_line_states_how_to_get_it(console: Console) -> None:
    await hang(console)
    text = await Console(console.world, may_change=False).text("/why", ask="consumer", group="readers")
    assert "With --control what barnabas why answers is here." in text
