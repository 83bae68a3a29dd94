"""The steps at which a fault can be armed: each is drawn in its place, tells what is armed there, leads to the form."""

import html as entities
import json
import re
from typing import Any

import pytest

from barnabas.broker.control.faults.held_requests import BlockedRequest, HoldReason
from barnabas.broker.control.faults.plan.of_points import points
from barnabas.broker.http.console.svg.steps import COMMIT, OTHERS, SequenceStep
from barnabas.broker.runtime.events import KINDS, EventKind, kinds
from barnabas.broker.runtime.events.events import Facts
from tests.support.console.world import Console
from tests.support.inspected_broker import Inspected
from tests.support.worlds.broker import settle

MARKUP = "<i>tx</i>"


async def arm(console: Console, match: object, do: str, name: str = "torn") -> None:
    await console.post("/faults/arm", 303, plan=json.dumps({"name": name, "match": match, "do": {do: True}}))


def plan_in(html: str) -> dict[str, Any]:
    """The plan in the form."""
    text = html.partition("<textarea")[2].partition(">")[2].partition("</textarea>")[0]
    plan: dict[str, Any] = json.loads(entities.unescape(text))
    return plan


async def step(console: Console, point: str, state: str = "") -> str:
    """The link of a step, as HTML."""
    found = re.search(
        rf'<a class="step[^>]*id="at-{re.escape(point + (f"-{state}" if state else ""))}".*?</a>',
        await console.get("/faults"),
        re.DOTALL,
    )
    assert found is not None
    return found[0]


def test_every_step_of_a_transaction_has_its_place_in_the_commit() -> None:
    drawn = [each for each in COMMIT if isinstance(each, SequenceStep)]
    assert {each.point for each in drawn} == {name for name in points() if name.startswith("transaction.")}
    assert len(set(drawn)) == len(drawn)
    assert all("state" in KINDS[each.point].facts for each in drawn if each.state)


def test_every_other_step_is_listed_once() -> None:
    listed = [name for _, names in OTHERS for name in names]
    assert sorted(listed) == sorted(name for name in points() if not name.startswith("transaction."))


async def test_the_steps_are_in_the_order_in_which_they_are_reported(console: Console, world: Inspected) -> None:
    told: list[tuple[str, str]] = []
    names = {name for name in points() if name.startswith("transaction.")}
    mine = await world.init("tx")

    def hear(kind: EventKind, facts: Facts) -> None:
        if kind.name in names:
            told.append((kind.name, facts.get("state", "")))

    world.services.events.listen(hear)
    await world.go_on("tx", mine, ("orders", 0))
    await world.end("tx", mine, is_commit=True)
    assert told == [(each.point, each.state) for each in COMMIT if isinstance(each, SequenceStep)]


async def test_every_step_is_a_link_with_a_text(console: Console) -> None:
    html = await console.get("/faults")
    for name, kind in points().items():
        assert f"point={name}" in html
        assert entities.escape(kind.what, quote=True).replace("&#x27;", "&#39;") in html
    assert '<title id="sequence-title">' in html
    assert '<desc id="sequence-what">' in html
    assert "Crash or pause." in await step(console, "transaction.marked")
    assert "pause" not in await step(console, "transaction.completed")


async def test_a_step_tells_what_is_armed_there_and_who_stands(console: Console, world: Inspected) -> None:
    await arm(console, {"point": "transaction.marker_written", "position": 1}, "pause")
    html = await step(console, "transaction.marker_written")
    assert 'class="step open"' in html
    assert "torn: pause, fired 0 of 1." in html
    mine = await world.begin(MARKUP, ("orders", 0), ("orders", 1))
    await world.end(MARKUP, mine, is_commit=True)
    html = await step(console, "transaction.marker_written")
    assert "fired 1 of 1" in html
    assert "&lt;i&gt;tx&lt;/i&gt; at orders-0 stands here" in html
    assert "&lt;i&gt;tx&lt;/i&gt; at orders-0 stands here" in await console.text("/faults")
    await console.post("/faults/change", 303, what="release", name="torn")
    await settle()
    assert "stands here" not in await console.get("/faults")


async def test_a_fault_is_marked_at_the_record_that_it_matches(console: Console) -> None:
    await arm(console, {"point": "transaction.record_written", "state": "Prepare*"}, "crash")
    assert 'class="step aborted"' in await step(console, "transaction.record_written", "PrepareCommit")
    assert 'class="step "' in await step(console, "transaction.record_written", "Ongoing")
    await arm(console, {"point": "transaction.record_written", "transactional_id": "x"}, "crash", "any")
    assert "any: crash" in await step(console, "transaction.record_written", "Ongoing")


async def test_a_request_that_stands_is_named_with_its_client(console: Console, world: Inspected) -> None:
    await arm(console, {"api": "FindCoordinator"}, "pause")
    armed = world.broker.faults.get().registry.get("torn")
    armed.hold(
        HoldReason.PAUSED,
        BlockedRequest(0, facts={"api": "FindCoordinator", "client_id": MARKUP, "connection": "10.0.0.1:4"}),
    )
    armed.hold(
        HoldReason.PAUSED,
        BlockedRequest(0, facts={"api": "FindCoordinator", "client_id": None, "connection": "10.0.0.1:5"}),
    )
    text = await console.text("/faults")
    assert "FindCoordinator of &lt;i&gt;tx&lt;/i&gt;, FindCoordinator of 10.0.0.1:5 stand here" in text
    await console.post("/faults/change", 303, what="release", name="torn")
    assert "stand here" not in await console.text("/faults")


async def test_of_many_faults_at_a_step_some_are_reported(console: Console) -> None:
    for number in range(15):
        await arm(console, {"point": "topic.created", "topic": f"t{number}"}, "crash", f"fault-{number}")
    html = await step(console, "topic.created")
    assert html.count("fault-") == 10
    assert "5 more are armed." in html


async def test_the_form_has_the_step_that_was_chosen(console: Console) -> None:
    html = await console.get("/faults", point="transaction.marker_written", position=2, transactional_id="7")
    plan = plan_in(html)
    assert plan == {
        "match": {"point": "transaction.marker_written", "transactional_id": "7", "position": 2},
        "do": {"pause": True},
    }
    await console.post("/faults/arm", 303, plan=json.dumps(plan))
    assert "&#34;crash&#34;: true" in await console.get("/faults", point="transaction.prepared", do="crash")
    assert "&#34;crash&#34;: true" in await console.get("/faults", point="topic.created")
    assert "&#34;is_commit&#34;: false" in await console.get("/faults", point="transaction.prepared", is_commit="false")


async def test_the_form_has_an_error_at_a_step_before_a_write(console: Console) -> None:
    known = {"group": "workers", "delivery_states": "acknowledged", "partition": 0}
    plan = plan_in(await console.get("/faults", point="share.record_writing", do="error", **known))
    assert plan == {"match": {"point": "share.record_writing", **known}, "do": {"error": "KAFKA_STORAGE_ERROR"}}
    assert "MESSAGE_TOO_LARGE" in await console.text("/faults", point="share.record_writing", do="error")
    await console.post("/faults/arm", 303, plan=json.dumps(plan))
    html = await step(console, "share.record_writing")
    assert 'class="step aborted"' in html
    assert ": error, fired 0 of 1" in html
    assert "do is one of pause, crash" in await console.text("/faults", 400, point="share.record_written", do="error")


@pytest.mark.parametrize("point", sorted(points()))
async def test_the_form_can_arm_every_action_that_a_step_has(console: Console, point: str) -> None:
    for action in points()[point].actions:
        plan = plan_in(await console.get("/faults", point=point, do=action))
        await console.post("/faults/arm", 303, plan=json.dumps({**plan, "name": action}))
    armed = console.world.broker.faults.get().registry.every()
    assert [each.name for each in armed] == list(points()[point].actions)


async def test_a_share_group_that_stands_at_a_step_is_named(console: Console) -> None:
    await arm(console, {"point": "share.record_written"}, "pause")
    facts = {"group": "workers", "topic": "jobs", "partition": 0, "delivery_states": ["acknowledged"]}
    assert console.world.services.events.emit(kinds.SHARE_WRITTEN, facts) is not None
    assert "workers at jobs-0 stands here" in await console.text("/faults")


async def test_a_step_that_is_not_there_is_refused_in_a_sentence(console: Console) -> None:
    assert "there is no point nowhere: there are transaction.record_writing" in await console.text(
        "/faults", 404, point="nowhere"
    )
    assert "do is one of crash" in await console.text("/faults", 400, point="topic.created", do="pause")
    text = await console.text("/faults", 400, point="transaction.marked", is_commit="perhaps")
    assert "is_commit is true or false" in text
    assert "position is no whole number" in await console.text(
        "/faults", 400, point="transaction.marker_written", position="x"
    )


async def test_without_control_the_steps_are_shown_and_nothing_can_be_armed(console: Console) -> None:
    html = await Console(console.world, may_change=False).get("/faults", point="transaction.prepared")
    assert "<form" not in html
    assert "--control" in html
    assert "point=transaction.marked" in html
