"""A transaction ends while its batch is not in the log yet, and the producer's epoch stays: nothing may be left open.

Whoever leaves the loop between the coordinator's answer and the append asks again. Under the newer protocol the epoch
would tell; under the older one (EndTxn below v5) only the coordinator can.
"""

import asyncio
import errno
from dataclasses import replace

import pytest

from barnabas.broker.partitions.produce import batch_validations
from barnabas.protocol.errors import ErrorCode
from tests.support.worlds.broker import turn
from tests.support.worlds.transactional_broker import TransactionalBroker

E = ErrorCode
TV1 = 0


async def test_a_batch_that_was_walked_while_its_transaction_ended_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_validations, "WALK", replace(batch_validations.WALK, steps_max=1))
    world = TransactionalBroker()
    world.broker.services.catalogue.create_topic("w", 1, {"compression.type": "gzip"})
    producer = await world.producer()
    await world.add(producer, ("w", 0))
    sending = asyncio.ensure_future(producer.send(b"v" * 5_000, topic="w", version=11))
    await turn()
    assert (await world.end(producer, commit=True, version=TV1)).error is E.NONE
    assert not sending.done()
    assert (await sending).error_code == E.TRANSACTION_ABORTABLE
    assert world.log(topic="w").log_end_offset == 1, "the marker"
    assert not world.log(topic="w").has_open_transaction(producer.id, producer.epoch)


async def test_a_batch_whose_addition_was_synced_while_its_transaction_ended_is_refused() -> None:
    world = TransactionalBroker({"log.flush.interval.messages": "1"})
    producer = await world.producer()
    sending = asyncio.ensure_future(producer.send(b"v"))
    await turn()
    assert not sending.done()
    assert world.txn().partitions == {("t", 0)}
    assert (await world.end(producer, commit=False, version=TV1)).error is E.NONE
    assert (await sending).error_code != E.NONE
    assert world.log().log_end_offset == 1, "the marker"
    assert not world.log().has_open_transaction(producer.id, producer.epoch)


async def test_a_batch_that_was_sent_away_for_now_is_not_overtaken_by_the_next() -> None:
    world = TransactionalBroker()
    producer = await world.producer()
    await world.add(producer, ("t", 0))
    assert (await producer.send(b"v", version=11)).error_code == E.NONE
    world.log(2)  # is open before its directory cannot be written
    world.files.fail("pwrite", errno.ENOSPC, path="/t-0/")
    assert (await world.end(producer, commit=True, version=TV1)).error is E.NONE
    assert (await producer.send(b"first", 2, version=11)).error_code == E.NOT_ENOUGH_REPLICAS, "the commit goes on"
    world.files.heal()
    await world.advance(1_000)
    assert await world.add(producer, ("t", 2)) is E.NONE
    producer.sequences["t", 2] = 1
    assert (await producer.send(b"second", 2, version=11)).error_code == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    producer.sequences["t", 2] = 0
    assert [(await producer.send(value, 2, version=11)).error_code for value in (b"first", b"second")] == [E.NONE] * 2


async def test_a_batch_there_was_no_room_to_walk_is_not_overtaken_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_validations, "WALK", replace(batch_validations.WALK, steps_max=1))
    monkeypatch.setattr(batch_validations, "WALKED_BYTES_MAX", 1)
    world = TransactionalBroker()
    world.broker.services.catalogue.create_topic("w", 2, {"compression.type": "gzip"})
    producer, other = await world.producer(), await world.producer("other")
    await world.add(producer, ("w", 0))
    await world.add(other, ("w", 1))
    walked = asyncio.ensure_future(other.send(b"v" * 5_000, 1, topic="w", version=11))
    await turn()
    assert (await producer.send(b"v" * 5_000, topic="w", version=11)).error_code == E.NOT_LEADER_OR_FOLLOWER
    assert (await walked).error_code == E.NONE
    producer.sequences["w", 0] = 1
    assert (await producer.send(b"second", topic="w", version=11)).error_code == E.OUT_OF_ORDER_SEQUENCE_NUMBER
    producer.sequences["w", 0] = 0
    assert [(await producer.send(value, topic="w", version=11)).error_code for value in (b"first", b"second")] == [
        E.NONE
    ] * 2
