"""The pages of transactions over a whole broker in memory."""

from typing import Any

import pytest

from barnabas.broker.coordinator.transaction.decisions.model import TransactionMetadata
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.http.console.queries.transactions import TransactionChange
from barnabas.broker.http.console.svg.timeline import WIDTH, timeline
from tests.support.console.world import Console
from tests.support.inspected_broker import TIMEOUT_MS, Inspected
from tests.support.worlds.broker import settle

MARKUP = "<script>alert('x')</script>&\""


@pytest.fixture
async def world() -> Inspected:
    return Inspected(topics={"orders": 3})


async def test_a_broker_without_transactions_reports_it(console: Console) -> None:
    assert "There are no transactional ids" in await console.text("/transactions")
    assert "No transaction is open" in await console.text("/transactions", which="open")


async def test_open_transactions_come_first_with_their_time_and_whom_they_hold_back(
    console: Console, world: Inspected
) -> None:
    mine = await world.begin("done", ("orders", 0))
    await world.end("done", mine, is_commit=True)
    await world.begin("payments", ("orders", 0), ("orders", 1))
    world.append("orders", b"a", b"b", partition=0)
    world.clock.advance(30_000)
    text = await console.text("/transactions")
    assert text.index("payments") < text.index("done")
    assert "payments Ongoing 1 · 0 30 s 9 min 30 s 2 – 4 –" in text
    assert "done CompleteCommit" in text
    assert "open or ending 1 transactional ids 2 committed in this run 1" in text
    assert "done" not in await console.text("/transactions", which="open")
    assert "payments" not in await console.text("/transactions", q="don")
    assert "No id has nobody in it." in await console.text("/transactions", q="nobody")


async def test_a_transaction_shows_its_history_its_partitions_and_what_an_abort_does(
    console: Console, world: Inspected
) -> None:
    await world.begin("payments", ("orders", 2))
    await world.commit("readers", "orders", 0, 0, 0)
    html = await console.get("/transaction", id="payments")
    text = await console.text("/transaction", id="payments")
    assert "The transaction began, with 1 partition." in text
    assert "A producer started (InitProducerId): producer 0, epoch 0." in text
    assert "orders-2 0 0 1 1 0 readers at 0" in text
    assert "An ABORT marker is written into 1 partition." in text
    assert "which are held back by 1 offset, continue" in text
    assert '<rect class="span open"' in html
    assert "Abort the transaction" in html


async def test_the_button_aborts_what_it_showed(console: Console, world: Inspected) -> None:
    mine = await world.begin("payments", ("orders", 0))
    form: dict[str, Any] = {"id": "payments", "producer_id": mine.producer_id, "producer_epoch": mine.producer_epoch}
    answer = await console.post("/transaction/abort", 303, **form)
    assert answer.headers["location"] == "/console/transaction?id=payments"
    await settle()
    text = await console.text("/transaction", id="payments")
    assert "Aborted: every partition has its marker." in text
    assert "Abort the transaction" not in text
    log = world.services.partitions.get("orders", 0)
    assert log.last_stable_offset == log.high_watermark == 2
    answer = await console.post("/transaction/abort", 409, **form)
    assert "has ended: nothing was aborted" in answer.text


async def test_without_control_nothing_is_aborted(console: Console, world: Inspected) -> None:
    mine = await world.begin("payments", ("orders", 0))
    only_look = Console(world, may_change=False)
    html = await only_look.get("/transaction", id="payments")
    assert "<form" not in html
    assert "--control" in html
    form: dict[str, Any] = {"id": "payments", "producer_id": mine.producer_id, "producer_epoch": mine.producer_epoch}
    assert "without --control" in (await only_look.post("/transaction/abort", 403, **form)).text
    assert world.services.partitions.get("orders", 0).last_stable_offset == 0


async def test_a_timeout_is_reported_as_one(console: Console, world: Inspected) -> None:
    await world.begin("payments", ("orders", 0))
    await world.advance(TIMEOUT_MS + 20_000)
    text = await console.text("/transaction", id="payments")
    assert "The abort was decided: its timeout of 10 min was over." in text
    assert "of these timed out 1" in await console.text("/transactions")


async def test_markup_in_names_is_text(console: Console, world: Inspected) -> None:
    await world.begin(MARKUP, ("orders", 0))
    await world.commit(MARKUP, "orders", 0)
    for html in (await console.get("/transactions"), await console.get("/transaction", id=MARKUP)):
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert" in html


async def test_missing_and_invalid_input_is_one_sentence(console: Console) -> None:
    assert "there is no transactional id nobody" in await console.text("/transaction", 404, id="nobody")
    assert "id is missing" in await console.text("/transaction", 400)
    assert "which is one of all, open" in await console.text("/transactions", 400, which="none")
    form: dict[str, Any] = {"id": "a", "producer_id": "x", "producer_epoch": "0"}
    assert "producer_id is no whole number" in (await console.post("/transaction/abort", 400, **form)).text


def test_a_timeline_is_drawn_in_time() -> None:
    txn = TransactionMetadata("t", 7, 0, 60_000, TransactionState.EMPTY, 0)
    begun = txn._replace(state=TransactionState.ONGOING, start_timestamp_ms=100, partitions=frozenset([("a", 0)]))
    prepared = begun._replace(state=TransactionState.PREPARE_COMMIT, last_update_timestamp_ms=300)
    done = prepared._replace(state=TransactionState.COMPLETE_COMMIT)
    fencer = txn._replace(producer_epoch=1)
    times = ((txn, 0), (begun, 100), (prepared, 300), (done, 350), (fencer, 400))
    line = timeline([TransactionChange(number, ms, each) for number, (each, ms) in enumerate(times)], 10_000)
    assert line is not None
    assert (line.begin_ms, line.end_ms) == (0, 400)
    assert [(span.kind, span.x, span.width) for span in line.spans] == [("open", 250, 500), ("prepared", 750, 125)]
    assert [(mark.kind, mark.x) for mark in line.marks] == [("empty", 0), ("committed", 875), ("fence", WIDTH)]
    assert line.marks[-1].sentence.startswith(
        "A producer started again (InitProducerId): producer 7, epoch 1, and fences 7"
    )
    assert line.events[0].sentence.endswith("producer 7, epoch 1, and fences 7, epoch 0.")
    assert timeline([], 0) is None
    late = prepared._replace(state=TransactionState.PREPARE_ABORT, last_update_timestamp_ms=60_100)
    over = timeline([TransactionChange(0, 100, begun), TransactionChange(1, 60_100, late)], 60_100)
    assert over is not None
    assert [(mark.kind, mark.x) for mark in over.marks] == [("timeout", WIDTH)]
    assert over.marks[0].sentence.startswith("The abort was decided: its timeout of 1 min was over.")
