"""A Produce that begins a transaction is its cause, by the general path and the short one; a refusal is told once."""

from typing import Any

import pytest

from barnabas.broker.api.tracing import Tracer
from barnabas.broker.events.cause import RequestCause
from tests.support.requests import BY_NAME, end_txn, produce
from tests.support.worlds.story import Story

BEGINS = ("transaction.record_writing", "transaction.begun", "transaction.partitions_added")


async def write(story: Story, producer_id: int, epoch: int) -> None:
    batch = story.world.batch(b"v", producer=(producer_id, epoch, 0), transactional=True)
    await story.client.ask(produce(batch, transactional_id="x"), BY_NAME)


@pytest.mark.pure  # that the short path was taken is seen by replacing a method
async def test_the_cause_of_a_transaction_is_the_produce_that_began_it(monkeypatch: pytest.MonkeyPatch) -> None:
    by_general_path = []
    caused = Tracer._caused

    def counted(self: Tracer, *args: Any) -> Any:
        by_general_path.append(args)
        return caused(self, *args)

    monkeypatch.setattr(Tracer, "_caused", counted)
    story = Story()
    producer = await story.init()
    for bumps in (0, 1):
        before = len(story.told.events)
        await write(story, producer.producer_id, producer.producer_epoch + bumps)
        told = story.told.events[before:]
        assert [event.name for event in told if event.name in BEGINS] == list(BEGINS)
        for event in told:
            assert isinstance(event.cause, RequestCause)
            assert (event.cause.api, event.cause.version, event.cause.client_id) == ("Produce", 12, "test")
            assert event.cause.asked == {"transactional_id": "x"}
        assert story.world.broker.events.cause is None
        await story.client.ask(end_txn("x", (producer.producer_id, producer.producer_epoch + bumps)), 5)
    assert len(story.told.of("transaction.completed")) == 2
    assert len(by_general_path) == 1


async def test_a_refused_produce_is_told_once() -> None:
    story = Story()
    producer = await story.init()
    await write(story, producer.producer_id, producer.producer_epoch)
    await story.client.ask(end_txn("x", (producer.producer_id, producer.producer_epoch)), 5)
    await write(story, 99, 0)
    assert story.told.only("transaction.refused").facts["error"] == "INVALID_PRODUCER_ID_MAPPING"
    assert story.told.only("producer.refused").facts["producer_id"] == 99
    assert story.world.broker.events.cause is None
