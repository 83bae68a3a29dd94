"""Produce inside transactions: who is verified, what is added, which code each version of a client understands."""

import asyncio
import errno
from collections.abc import Callable
from functools import partial

import pytest

from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.coordinator.transaction.transaction_marker_writer import TransactionMarkerWriter
from barnabas.broker.coordinator.transaction.verification import (
    PRODUCE_ADDS_SINCE,
    produce_error,
    txn_offset_commit_error,
)
from barnabas.protocol.errors import ErrorCode
from tests.broker.api.handlers.test_produce import request
from tests.support.worlds.broker import settle, turn
from tests.support.worlds.transactional_broker import Producer, TransactionalBroker

E = ErrorCode


@pytest.fixture
async def world() -> TransactionalBroker:
    return TransactionalBroker()


async def code(producer: Producer, partition: int = 0, version: int = 12) -> int:
    return (await producer.send(b"v", partition, version=version)).error_code


@pytest.mark.parametrize("version", [12, 13])
async def test_a_newer_client_adds_its_partition_by_writing_to_it(world: TransactionalBroker, version: int) -> None:
    producer = await world.producer()
    assert await code(producer, 1, version) == E.NONE
    assert world.txn().partitions == {("t", 1)}
    assert world.txn().client_transaction_version == 2


@pytest.mark.parametrize("version", [11, 12])
async def test_a_batch_that_nobody_could_judge_is_not_appended_though_its_partition_can_be_had_a_moment_later(
    world: TransactionalBroker, version: int
) -> None:
    await (await world.written(0)).end(commit=True)
    world = await world.restart()
    producer = await world.producer()
    end = world.log().log_end_offset
    world.broker.files.fail("pwrite", errno.EIO, path="__cluster_metadata", times=1)  # the leader epoch does not rise
    assert await code(producer, 0, version) == E.KAFKA_STORAGE_ERROR
    assert world.log().log_end_offset == end
    if version < PRODUCE_ADDS_SINCE:
        await world.add(producer, ("t", 0))
    assert await code(producer, 0, version) == E.NONE
    assert world.txn().partitions == {("t", 0)}


async def test_verification_can_be_switched_off_for_older_clients_alone() -> None:
    world = TransactionalBroker({"transaction.partition.verification.enable": "false"})
    producer = await world.producer()
    assert await code(producer, 0, version=11) == E.NONE
    assert world.txn().partitions == frozenset()
    assert await code(producer, 1, version=12) == E.NONE
    assert world.txn().partitions == {("t", 1)}


async def test_a_batch_that_is_walked_off_the_loop_is_verified_again_when_it_comes_back() -> None:
    world = TransactionalBroker()
    world.broker.services.catalogue.create_topic("walked", 1, {"compression.type": "gzip"})
    producer = await world.producer(timeout_ms=1_000)
    sending = asyncio.ensure_future(producer.send(b"v" * 20_000, topic="walked"))
    await turn()
    await world.end(producer, commit=False)  # the partition is in the transaction, the batch is not there yet
    assert (await sending).error_code == E.INVALID_PRODUCER_EPOCH
    assert world.log(topic="walked").last_stable_offset == world.log(topic="walked").high_watermark


async def test_an_addition_waits_for_the_transaction_before_it_and_gives_up_in_time(world: TransactionalBroker) -> None:
    producer = await world.producer()
    await producer.send(b"a")
    world.files.fail("pwrite", path="t-0/")
    await producer.end(commit=True)
    assert world.txn().state is TransactionState.PREPARE_COMMIT
    assert await code(producer, 1) == E.CONCURRENT_TRANSACTIONS
    assert await code(producer, 1, version=11) == E.NOT_ENOUGH_REPLICAS
    world.files.heal()
    await world.advance(1_000)
    assert await code(producer, 1) == E.NONE


async def test_an_addition_that_is_retried_succeeds_as_soon_as_the_transaction_before_is_complete(
    world: TransactionalBroker,
) -> None:
    producer = await world.producer()
    await producer.send(b"a")
    world.files.fail("pwrite", path="t-0/")
    await producer.end(commit=True)
    world.files.heal()
    await world.advance(950)
    assert await code(producer, 1) == E.NONE


@pytest.mark.parametrize(
    ("code", "answers"),
    [  # of v10, v11 and v12
        (E.NONE, [E.NONE, E.NONE, E.NONE]),
        (E.TRANSACTION_ABORTABLE, [E.INVALID_TXN_STATE, E.TRANSACTION_ABORTABLE, E.TRANSACTION_ABORTABLE]),
        (E.PRODUCER_FENCED, [E.INVALID_PRODUCER_EPOCH] * 3),
        (E.INVALID_PRODUCER_ID_MAPPING, [E.INVALID_PRODUCER_ID_MAPPING] * 3),
        (E.INVALID_TXN_STATE, [E.INVALID_TXN_STATE] * 3),
        (E.CONCURRENT_TRANSACTIONS, [E.NOT_ENOUGH_REPLICAS, E.NOT_ENOUGH_REPLICAS, E.CONCURRENT_TRANSACTIONS]),
        (E.NETWORK_EXCEPTION, [E.NOT_ENOUGH_REPLICAS] * 3),
        (E.COORDINATOR_LOAD_IN_PROGRESS, [E.NOT_ENOUGH_REPLICAS] * 3),
        (E.COORDINATOR_NOT_AVAILABLE, [E.NOT_ENOUGH_REPLICAS] * 3),
        (E.NOT_COORDINATOR, [E.NOT_ENOUGH_REPLICAS] * 3),
        (E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, [E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 3),
    ],
)
def test_every_answer_of_the_coordinator_has_one_that_a_producer_understands(
    code: ErrorCode, answers: list[ErrorCode]
) -> None:
    assert [produce_error(code, version) for version in (10, 11, 12)] == answers


@pytest.mark.parametrize(
    ("code", "answers"),
    [  # of v3, v4 and v5
        (E.TRANSACTION_ABORTABLE, [E.INVALID_TXN_STATE, E.TRANSACTION_ABORTABLE, E.TRANSACTION_ABORTABLE]),
        (E.PRODUCER_FENCED, [E.INVALID_PRODUCER_EPOCH] * 3),
        (E.INVALID_PRODUCER_ID_MAPPING, [E.INVALID_PRODUCER_ID_MAPPING] * 3),
        (E.NETWORK_EXCEPTION, [E.COORDINATOR_LOAD_IN_PROGRESS] * 3),
        (E.COORDINATOR_LOAD_IN_PROGRESS, [E.COORDINATOR_LOAD_IN_PROGRESS] * 3),
        (E.CONCURRENT_TRANSACTIONS, [E.CONCURRENT_TRANSACTIONS] * 3),
    ],
)
def test_and_one_that_a_committer_of_offsets_understands(code: ErrorCode, answers: list[ErrorCode]) -> None:
    assert [txn_offset_commit_error(code, version) for version in (3, 4, 5)] == answers


async def test_a_value_that_is_not_one_batch_is_refused_and_begins_no_transaction(world: TransactionalBroker) -> None:
    producer = await world.producer()
    batch = world.broker.batch(b"v", producer=(producer.id, producer.epoch, 0), transactional=True)
    peer = world.broker.connect()
    for records, expected in ((batch * 2, E.INVALID_RECORD), (batch + b"\0\0\0", E.NONE)):
        peer.ask(request(world.broker, ("t", 0, records), transactional_id="tx"), 12)
        await settle()
        (topic,) = peer.answer().responses
        assert topic.partition_responses[0].error_code == expected
        assert world.txn().state is (TransactionState.ONGOING if expected == E.NONE else TransactionState.EMPTY)


async def test_a_partition_that_knows_a_later_epoch_need_not_ask_the_coordinator(world: TransactionalBroker) -> None:
    zombie = await world.producer()
    producer = await world.producer()
    assert await code(producer, 1) == E.NONE
    stranger = Producer(world, "nobody", zombie.id, zombie.epoch)
    assert await code(stranger, 1) == E.INVALID_PRODUCER_EPOCH
    assert await code(stranger, 0) == E.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.pure
async def test_an_addition_goes_on_the_moment_the_transaction_before_it_is_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the end is answered before its markers are written, the next transaction may begin before they are."""
    hours_ms = "36000000"  # who is not told would wait for longer than this test does
    waits = {"add.partitions.to.txn.retry.backoff.ms": hours_ms, "add.partitions.to.txn.retry.backoff.max.ms": hours_ms}
    world = TransactionalBroker(waits)
    producer = await world.producer()
    assert (await producer.send(b"v")).error_code == E.NONE
    finish, postponed = TransactionMarkerWriter.finish, list[Callable[[], None]]()
    monkeypatch.setattr(
        TransactionMarkerWriter, "finish", lambda *args, **options: postponed.append(partial(finish, *args, **options))
    )
    assert (await producer.end(commit=True)).error is E.NONE
    next_write = asyncio.ensure_future(producer.send(b"w"))
    await settle()
    assert len(world.coordinator.completions) == 1, "it waits"
    postponed.pop()()
    assert (await next_write).error_code == E.NONE
    assert world.read() == [b"v"]
    assert len(world.coordinator.completions) == 0
