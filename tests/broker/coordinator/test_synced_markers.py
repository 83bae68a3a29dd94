"""Finishing transactions where markers are to be synced: when they are shown, and what becomes of failed syncs."""

import asyncio
from asyncio import Future
from contextlib import suppress
from typing import Any

import pytest

from barnabas.broker.coordinator.transaction.decisions.states import TransactionState as S
from barnabas.broker.partitions.flush import group_flush
from barnabas.broker.partitions.partitions import Partitions
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.errors import KafkaError
from tests.support.worlds.broker import settle, turn, until
from tests.support.worlds.transactional_broker import TransactionalBroker


@pytest.mark.pure
async def test_commits_synced_in_rounds_become_visible_together_after_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_flush, "ROUND_LOGS", 2)
    world = TransactionalBroker({"log.flush.interval.messages": "1"})
    producer = await world.written(0, 1, 2)
    ending = asyncio.ensure_future(world.end(producer, commit=True))
    seen, synced = [], set()
    while world.txn().state is not S.COMPLETE_COMMIT:
        await turn()
        seen.append(world.shown())
        synced.add(tuple(world.log(partition).recovery_point for partition in range(3)))
    assert [each for each in seen if each not in ([0, 0, 0], [1, 1, 1])] == []
    assert (seen[0], seen[-1]) == ([0, 0, 0], [1, 1, 1])
    assert len(synced) > 2, "in several rounds"
    assert (await ending).error is E.NONE
    await world.until(world.close())


@pytest.mark.pure
async def test_where_one_marker_is_not_synced_the_others_show_the_transaction(
    world: TransactionalBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    producer = await world.written(0, 1, 2)
    lost: Future[None] = asyncio.get_running_loop().create_future()
    synced_log = Partitions.synced_log
    monkeypatch.setattr(
        Partitions,
        "synced_log",
        lambda partitions, log, offset: lost if log is world.log(1) else synced_log(partitions, log, offset),
    )
    assert (await world.end(producer, commit=True)).error is E.NONE
    await settle()
    assert world.shown() == [0, 0, 0]
    lost.set_exception(KafkaError(E.KAFKA_STORAGE_ERROR))
    await settle()
    assert world.shown() == [1, 1, 1]
    assert world.txn().state is S.PREPARE_COMMIT


@pytest.mark.pure
@pytest.mark.parametrize("topic", ["__transaction_state", "t"])
async def test_a_transaction_is_finished_once_all_is_synced(monkeypatch: pytest.MonkeyPatch, topic: str) -> None:
    world = TransactionalBroker({"log.flush.interval.messages": "1"})
    producer = await world.written(0, 1)
    synced_log = Partitions.synced_log

    def failing(partitions: Partitions, log: Any, offset: int) -> Future[None] | None:
        if log.topic != topic:
            return synced_log(partitions, log, offset)
        failed: Future[None] = asyncio.get_running_loop().create_future()
        failed.set_exception(KafkaError(E.KAFKA_STORAGE_ERROR))
        return failed

    with monkeypatch.context() as patch:
        patch.setattr(Partitions, "synced_log", failing)
        with suppress(KafkaError):  # the answer does not matter, but the state below
            await world.end(producer, commit=True)
        await settle()
    assert world.txn().state is S.PREPARE_COMMIT
    await world.advance(10_000)  # the broker syncs what is due, and then looks after what is prepared
    await until(lambda: not any(log.flush_before_answer for log in world.broker.services.partitions.open_logs()))
    await world.advance(10_000)
    await until(lambda: world.txn().state is S.COMPLETE_COMMIT)
    assert world.shown() == [1, 1, 0]
    await world.until(world.close())
