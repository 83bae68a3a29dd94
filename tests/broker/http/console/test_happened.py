"""What the trace has, and why: on the pages of a transactional id, a group and a record."""

from types import MappingProxyType

import pytest

from barnabas.broker.coordinator.transaction.decisions.model import InitRequest
from barnabas.broker.http.console.pages.event_history import EVENTS_MAX, SHOWN_MAX, folded, last, row_of
from barnabas.broker.insight.history.history import History
from barnabas.broker.insight.history.trace_event import TraceEvent
from barnabas.broker.insight.history.trace_filter import TraceFilter
from barnabas.broker.runtime.events import Events, kinds
from barnabas.broker.runtime.events.cause import RequestCause
from barnabas.storage.steps import finish
from tests.support.console.world import Console
from tests.support.inspected_broker import TIMEOUT_MS, Inspected, now
from tests.support.worlds.broker import settle

MARKUP = "<u>b</u>"


def caused_by(world: Inspected, client_id: str) -> None:
    """Have what happens next led to by a request of this client."""
    world.services.events.cause = RequestCause(7, "InitProducerId", 4, client_id, "10.0.0.1:40000", 1, 0, {})


async def test_a_transaction_tells_who_fenced_whom(console: Console, world: Inspected) -> None:
    await world.begin("payments", ("orders", 0), ("orders", 1))
    caused_by(world, MARKUP)
    await now(world.services.transactions.init_producer_id(InitRequest("payments", TIMEOUT_MS)))
    world.services.events.cause = None
    await settle()
    html, text = await console.get("/transaction", id="payments"), await console.text("/transaction", id="payments")
    assert MARKUP not in html
    assert "was fenced by InitProducerId of &lt;u&gt;b&lt;/u&gt; at 10.0.0.1:40000: another producer begins." in text
    assert "Added to the transaction: orders-0, orders-1." in text
    assert "The abort is complete." in text
    assert "producer.fenced" in text
    assert text.index("The abort is complete.") < text.index("A transaction of 0, epoch 0 began")


async def test_a_timeout_is_reported_with_what_it_was(console: Console, world: Inspected) -> None:
    await world.begin("payments", ("orders", 0))
    await world.advance(TIMEOUT_MS + 20_000)
    text = await console.text("/transaction", id="payments")
    assert "The transaction timed out: it was open for 10 min" in text
    assert "Its transaction was aborted for its timeout" in text


async def test_the_pages_say_why(console: Console, world: Inspected) -> None:
    await world.begin("payments", ("orders", 0))
    await world.commit("readers", "orders", 0)
    text = await console.text("/transaction", id="payments")
    assert "Transactional id payments has a transaction in orders-0: it is Ongoing" in text
    assert "<code>barnabas txn abort payments</code>" in await console.get("/transaction", id="payments")
    assert "Group readers" in (await console.text("/group", id="readers")).partition(" Why ")[2]
    record = await console.text("/topics/orders/0/records/0")
    assert "Offset 0 of orders-0 is open" in record


async def test_without_control_a_line_states_how_to_get_it(console: Console, world: Inspected) -> None:
    await world.begin("payments", ("orders", 0))
    await world.commit("readers", "orders", 0)
    only_look = Console(world, may_change=False)
    text = await only_look.text("/transaction", id="payments")
    assert "With --control the answer of barnabas why producer payments is here." in text
    assert "With --control the trace is stored" in text
    assert "barnabas why group readers is here" in await only_look.text("/group", id="readers")
    assert "barnabas why record orders:0:0 is here" in await only_look.text("/topics/orders/0/records/0")


def test_every_kind_of_event_can_be_reported() -> None:
    """With no facts but its own, and none of them missing."""
    for kind in kinds.KINDS.values():
        facts = {name: _value(name) for name in kind.facts}
        row = row_of(TraceEvent(1, 0, 0, kind.name, MappingProxyType(facts), {}))
        assert row["sentence"].endswith(".")


def _value(name: str) -> object:
    if name in ("partitions", "offsets", "topics"):
        return ["orders-0"]
    texts = ("transactional_id", "topic", "group", "error", "why", "state", "api", "fault", "does", "point")
    return "x" if name in texts else 1


def rows(text: str) -> list[dict[str, object]]:
    """A row for each letter."""
    return [
        {"number": number, "at_ms": number, "kind": "k", "because": "", "sentence": f"{letter}, after {number} ms."}
        for number, letter in enumerate(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("ab", [("a", 0), ("b", 0)]),
        ("aab", [("a", 0), ("a", 0), ("b", 0)]),
        ("aaab", [("a", 3), ("b", 0)]),
        ("xabababc", [("x", 0), ("a", 3), ("b", 3), ("c", 0)]),
        ("abcabcabca", [("a", 3), ("b", 3), ("c", 3), ("a", 0)]),
        ("a" * 60 + "b" * 60, [("a", 60), ("b", 60)]),
    ],
)
def test_repetitions_are_one_row(text: str, expected: list[tuple[str, int]]) -> None:
    assert [(row["sentence"][0], len(row["repeats"])) for row in folded(rows(text))] == expected


async def test_sixty_refusals_are_a_row_that_can_be_opened(console: Console, world: Inspected) -> None:
    mine = await world.begin("payments", ("orders", 0))
    for _ in range(60):
        world.clock.advance(10)
        facts = {"transactional_id": "payments", "producer_id": mine.producer_id, "producer_epoch": 0}
        world.services.events.emit(kinds.TRANSACTION_REFUSED, {**facts, "error": "CONCURRENT_TRANSACTIONS"})
    text = await console.text("/transaction", id="payments")
    assert "A request was refused with CONCURRENT_TRANSACTIONS. × 60, since 20" in text
    assert "A transaction of 0, epoch 0 began" in text
    html = await console.get("/transaction", id="payments")
    assert html.count('<li><span class="time">') == 60
    assert html.count('<details id="repeats-') == 1


async def test_other_events_than_the_last_are_left_out(console: Console, world: Inspected) -> None:
    await world.begin("payments", ("orders", 0))
    for number in range(2 * SHOWN_MAX):
        facts = {"transactional_id": "payments", "producer_id": number, "producer_epoch": 0}
        world.services.events.emit(kinds.TRANSACTION_REFUSED, {**facts, "error": f"E{number}"})
    text = await console.text("/transaction", id="payments")
    assert f"The last {SHOWN_MAX} of them, repetitions in one" in text
    assert f"refused with E{2 * SHOWN_MAX - 1}." in text
    assert f"refused with E{SHOWN_MAX - 1}." not in text


def test_results_are_bounded_and_collected_in_steps() -> None:
    events = Events()
    history = History(events, now_ms=lambda: 0, machine_now_ms=lambda: 0, events_max=5_000)
    wanted = TraceFilter(transactional_id="mine")
    assert finish(last(history, wanted)) == []
    for number in range(12_000):
        facts = {"transactional_id": "mine" if number % 1_000 == 0 else "other", "producer_id": number}
        events.emit(kinds.TRANSACTION_COMPLETED, {**facts, "producer_epoch": 0, "is_commit": True})
    assert [each.facts["producer_id"] for each in finish(last(history, wanted))] == [
        11_000,
        10_000,
        9_000,
        8_000,
        7_000,
    ]
    assert sum(1 for _ in last(history, wanted)) >= 5_000 // 500 - 1
    assert len(finish(last(history, TraceFilter(transactional_id="other")))) == EVENTS_MAX
    history.close()
