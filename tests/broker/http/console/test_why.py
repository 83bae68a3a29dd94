"""The page that says why something hangs, and the buttons that end it, over a whole broker in memory."""

import json
import re
from html import unescape
from typing import Any

import pytest

from barnabas.broker.control.faults.held_requests import BlockedRequest, HoldReason
from barnabas.broker.insight.why.hanging import LONGER_THAN_MS
from tests.support.console.world import Console, world_of
from tests.support.worlds.broker import settle

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


async def test_an_open_transaction_is_aborted_where_why_names_it(console: Console) -> None:
    await hang(console)
    world = world_of(console)
    for path, query in (
        ("/why", {}),
        ("/why", {"ask": "consumer", "group": "readers"}),
        ("/topics/orders/0/records/0", {}),
    ):
        html = await console.get(path, **query)
        assert "<summary>Abort the transaction of &lt;u&gt;tx&lt;/u&gt;</summary>" in html
        assert "An ABORT marker is written into 1 partition." in html
    form = fields(html, "/console/transaction/abort")
    answer = await console.post("/transaction/abort", 303, **form)
    assert answer.headers["location"] == "/console/topics/orders/0/records/0"
    await settle()
    assert world.services.partitions.get("orders", 0).last_stable_offset == 2
    html = await console.get("/topics/orders/0/records/0")
    assert "/console/transaction/abort" not in html


async def test_the_page_of_a_transaction_has_one_button_to_abort_it(console: Console) -> None:
    await hang(console)
    html = await console.get("/transaction", id=MARKUP)
    assert html.count('action="/console/transaction/abort"') == 1
    assert 'id="abort-button"' in html


@pytest.mark.parametrize(
    ("does", "reason", "what"),
    [("pause", HoldReason.PAUSED, "release"), ("lose_answer", HoldReason.UNANSWERED, "disarm")],
)
async def test_a_request_that_is_held_up_goes_on_where_why_names_it(
    console: Console, does: str, reason: HoldReason, what: str
) -> None:
    world = world_of(console)
    plan = {"name": "stuck", "match": {"api": "OffsetFetch"}, "do": {does: True}}
    await console.post("/faults/arm", 303, plan=json.dumps(plan))
    armed = world.broker.faults.get().registry.get("stuck")
    armed.hold(reason, BlockedRequest(0, api="OffsetFetch", groups=("readers",)))
    await world.commit("readers", "orders", 0)
    for path, query in (("/why", {}), ("/group", {"id": "readers"})):
        html = await console.get(path, **query)
        assert f">{what.capitalize()} stuck</button>" in html
    form = fields(html, "/console/faults/change")
    answer = await console.post("/faults/change", 303, **form, what=what)
    assert answer.headers["location"] == "/console/group?id=readers"
    assert "stuck" not in await console.get("/group", id="readers")


async def test_a_form_leads_back_to_a_page_of_the_console_only(console: Console) -> None:
    await console.post("/faults/arm", 303, plan=json.dumps({"match": {"api": "Fetch"}, "do": {"pause": True}}))
    answer = await console.post("/faults/change", 303, what="reset", back="https://example.com/console/")
    assert answer.headers["location"] == "/console/faults"


def fields(html: str, action: str) -> dict[str, Any]:
    """The hidden fields of the page's last form with this action."""
    form = html.split(f'action="{action}"')[-1].split("</form>")[0]
    found = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form)
    return {name: unescape(value) for name, value in found}
