"""Transactions over a topic that is deleted, and made again, before they end."""

import pytest

from barnabas.protocol.errors import ErrorCode
from tests.support.worlds.transactional_broker import TransactionalBroker

NONE = ErrorCode.NONE
MINUTE_MS = 60_000


@pytest.mark.parametrize("version", [12, 13])
@pytest.mark.parametrize("commit", [True, False])
async def test_a_transaction_ends_and_the_new_topic_has_nothing_of_it(version: int, commit: bool) -> None:
    world = TransactionalBroker()
    world.broker.services.catalogue.create_topic("other", 1)
    producer = await world.producer()
    assert (await producer.send(b"old", version=version)).error_code == NONE
    assert (await producer.send(b"kept", topic="other", version=version)).error_code == NONE
    world.broker.services.catalogue.delete_topics(["t"])
    world.broker.services.catalogue.create_topic("t", 3)

    assert (await producer.end(commit=commit)).error is NONE
    await world.advance(MINUTE_MS)
    assert world.read(topic="other") == ([b"kept"] if commit else [])
    assert world.read() == world.read(committed=False) == []
    assert world.log().last_stable_offset == world.log().log_end_offset

    producer.sequences.clear()
    assert (await producer.send(b"new", version=version)).error_code == NONE
    assert (await producer.end(commit=True)).error is NONE
    await world.advance(MINUTE_MS)
    assert world.read() == [b"new"]
    await world.until(world.close())


async def test_a_transaction_that_goes_on_in_the_new_topic_is_refused_and_can_be_aborted() -> None:
    """By name the producer does not notice; its sequence number tells that what it wrote before is not there."""
    world = TransactionalBroker()
    producer = await world.producer()
    assert (await producer.send(b"old")).error_code == NONE
    world.broker.services.catalogue.delete_topics(["t"])
    world.broker.services.catalogue.create_topic("t", 3)
    assert (await producer.send(b"more")).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert (await producer.end(commit=False)).error is NONE
    await world.advance(MINUTE_MS)
    producer.sequences.clear()
    assert (await producer.send(b"new")).error_code == NONE
    assert (await producer.end(commit=True)).error is NONE
    await world.advance(MINUTE_MS)
    assert world.read() == [b"new"]
    assert world.log().last_stable_offset == world.log().log_end_offset
    await world.until(world.close())
