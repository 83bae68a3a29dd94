"""Finishing transactions: all partitions are shown in one step, and what a partition refuses stops nobody for ever."""

import logging
from dataclasses import replace
from typing import Any

import pytest

from barnabas.broker.coordinator.runtime.shard import AppendPosition
from barnabas.broker.coordinator.transaction import transaction_marker_writer
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState as S
from barnabas.broker.coordinator.transaction.prepared_transactions import finish_transactions
from barnabas.broker.partitions.partitions import Partitions
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.storage.log.append import AppendResult
from tests.support.worlds.broker import settle
from tests.support.worlds.transactional_broker import TransactionalBroker


@pytest.mark.pure
async def test_in_slices_nothing_is_shown_before_the_last_marker_and_then_everything_at_once(
    world: TransactionalBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_marker_writer, "WRITING", replace(transaction_marker_writer.WRITING, steps_max=1))
    producer = await world.written(0, 1, 2)
    seen = []
    append_marker = Partitions.append_marker_to

    def observed(*args: Any, **options: Any) -> AppendResult:
        result = append_marker(*args, **options)
        seen.append(world.shown())
        return result

    monkeypatch.setattr(Partitions, "append_marker_to", observed)
    await world.end(producer, commit=True)
    assert (world.txn().state, len(seen)) == (S.PREPARE_COMMIT, 1), "the reply goes before the markers are written"
    await settle()
    assert seen == [[0, 0, 0]] * 3
    assert world.shown() == [1, 1, 1]
    assert world.txn().state is S.COMPLETE_COMMIT


async def test_a_partition_that_cannot_write_is_named_once_and_written_to_when_it_can(
    world: TransactionalBroker, caplog: pytest.LogCaptureFixture
) -> None:
    producer = await world.written(0, 1, 2)
    world.files.fail("pwrite", path="t-1/")
    with caplog.at_level(logging.INFO, "barnabas"):
        assert (await world.end(producer, commit=True)).error is E.NONE
        await world.advance(5_000)
        assert world.shown() == [1, 0, 1], "whose disk fails holds nobody else back"
        assert world.txn().state is S.PREPARE_COMMIT
        world.files.heal()
        await world.advance(1_000)
    assert world.shown() == [1, 1, 1]
    assert world.txn().state is S.COMPLETE_COMMIT
    refused = [line for line in caplog.messages if line.startswith("marker refused")]
    assert len(refused) == 1
    assert "partition=1" in refused[0]
    assert "transactional_id=tx" in refused[0]
    assert any(line.startswith("marker written after retries") for line in caplog.messages)


@pytest.mark.pure
async def test_our_own_mistake_about_one_partition_holds_up_neither_the_others_nor_a_stop(
    world: TransactionalBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    producer = await world.written(0, 1, 2)
    append_marker = Partitions.append_marker_to

    def mistaken(partitions: Partitions, log: Any, *args: Any, **options: Any) -> AppendResult:
        if log.partition == 1:
            raise ZeroDivisionError("nobody thought of this")
        return append_marker(partitions, log, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Partitions, "append_marker_to", mistaken)
        assert (await world.end(producer, commit=True)).error is E.NONE
        await world.advance(5_000)
        assert world.shown() == [1, 0, 1]
        await finish_transactions(world.coordinator)
    await world.advance(1_000)
    assert world.shown() == [1, 1, 1]
    assert world.txn().state is S.COMPLETE_COMMIT
    assert [record.message.split()[:2] for record in caplog.records if record.exc_info] == [["marker", "failed"]]


@pytest.mark.pure
@pytest.mark.parametrize("settings", [{}, {"log.flush.interval.messages": "1"}])
async def test_our_own_mistake_about_the_only_partition_is_logged_and_tried_again(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def mistaken(*args: object, **options: object) -> AppendResult:
        raise ZeroDivisionError("nobody thought of this")

    world = TransactionalBroker(settings)
    producer = await world.written(0)
    with monkeypatch.context() as patch:
        patch.setattr(Partitions, "append_marker_to", mistaken)
        assert (await world.end(producer, commit=True)).error is E.NONE
        assert world.txn().state is S.PREPARE_COMMIT
        await world.until(finish_transactions(world.coordinator))  # a stop does not wait for it
    await world.advance(transaction_marker_writer.BROKEN_RETRY_MS)
    await world.until(finish_transactions(world.coordinator))
    assert world.shown() == [1, 0, 0]
    assert world.txn().state is S.COMPLETE_COMMIT
    assert [record.message.split()[:2] for record in caplog.records if record.exc_info] == [["marker", "failed"]]


@pytest.mark.parametrize("count", [1, 2])
async def test_a_completion_that_cannot_be_written_is_tried_again(world: TransactionalBroker, count: int) -> None:
    producer = await world.written(*range(count))
    world.files.fail("pwrite", path="__transaction_state", skip=1)
    assert (await world.end(producer, commit=True)).error is E.NONE
    assert world.shown() == [1] * count + [0] * (3 - count)
    assert world.txn().state is S.PREPARE_COMMIT
    world.files.heal()
    await world.advance(transaction_marker_writer.BROKEN_RETRY_MS)
    assert world.txn().state is S.COMPLETE_COMMIT
    assert world.log(0).log_end_offset == 2, "no marker is written twice"


async def test_a_transaction_whose_preparation_cannot_be_written_goes_on(world: TransactionalBroker) -> None:
    producer = await world.written(0)
    world.files.fail("pwrite", path="__transaction_state")
    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        await world.end(producer, commit=True)
    world.files.heal()
    assert world.txn().state is S.ONGOING
    assert world.shown() == [0, 0, 0]
    assert (await world.end(producer, commit=True)).error is E.NONE
    assert world.shown() == [1, 0, 0]


async def test_a_partition_that_was_deleted_is_left_out(world: TransactionalBroker) -> None:
    catalogue = world.broker.services.catalogue
    catalogue.create_topic("gone", 1)
    producer = await world.written(0)
    await producer.send(b"v", topic="gone")
    catalogue.delete_topics(["gone"])
    await world.end(producer, commit=True)
    assert world.txn().state is S.COMPLETE_COMMIT
    assert world.shown() == [1, 0, 0]


async def test_a_client_with_a_later_epoch_is_refused(
    world: TransactionalBroker, caplog: pytest.LogCaptureFixture
) -> None:
    producer = await world.written(0, 1)
    later = EndTxnMarker(False, producer.id, producer.epoch + 5, 0, -1, world.broker.clock.now_ms())
    world.broker.services.partitions.append_marker("t", 1, later)
    await world.end(producer, commit=True)
    assert world.txn().state is S.COMPLETE_COMMIT
    assert world.shown() == [1, 0, 0]
    assert [line for line in caplog.messages if line.startswith("marker fenced")]


async def test_the_topic_of_transactions_may_go_while_a_transaction_is_finished(world: TransactionalBroker) -> None:
    producer = await world.written(0, 1)
    world.files.fail("pwrite", path="t-1/")
    await world.end(producer, commit=True)
    world.broker.services.catalogue.delete_topics(["__transaction_state"])
    world.files.heal()
    await world.advance(3_000)
    assert world.shown() == [1, 1, 0]
    assert "__transaction_state" not in world.broker.services.catalogue.topics


async def test_the_same_id_has_a_new_life_in_a_new_topic_and_what_was_decided_is_finished(
    world: TransactionalBroker,
) -> None:
    producer = await world.written(0, 1)
    world.files.fail("pwrite", path="t-1/")
    assert (await world.end(producer, commit=True)).error is E.NONE
    world.broker.services.catalogue.delete_topics(["__transaction_state"])
    again = await world.producer()
    await again.send(b"again", 0)
    assert (await world.end(again, commit=True)).error is E.NONE
    assert world.txn().state is S.COMPLETE_COMMIT
    assert world.read(0) == [b"v", b"again"]
    world.files.heal()
    await world.advance(transaction_marker_writer.BROKEN_RETRY_MS)
    assert world.read(1) == [b"v"], "it was acknowledged"


class Offsets:
    """A group coordinator that loads for a while."""

    def __init__(self, world: TransactionalBroker) -> None:
        self.world = world
        self.is_loading = True
        self.told: list[tuple[object, ...]] = []

    def append_marker(
        self, partition: int, marker: EndTxnMarker, *, transaction_version: int, hold: bool
    ) -> AppendPosition:
        if self.is_loading:
            raise KafkaError(E.NOT_LEADER_OR_FOLLOWER)
        self.told.append(("append", partition, marker.commit, hold))
        return AppendPosition(0, None)

    def release_marker(self, partition: int, producer_id: int, is_commit: bool) -> None:
        self.told.append(("release", partition, is_commit, self.world.shown()))


@pytest.mark.parametrize("goes", [False, True], ids=["the topic of transactions stays", "goes"])
async def test_offsets_that_load_hold_the_others_back_until_then(world: TransactionalBroker, goes: bool) -> None:
    offsets = Offsets(world)
    world.coordinator.markers._offsets = lambda: offsets
    producer = await world.written(0, 1)
    await world.add(producer, (CONSUMER_OFFSETS_TOPIC, 7), version=2)
    await world.end(producer, commit=True)
    if goes:
        world.broker.services.catalogue.delete_topics(["__transaction_state"])
    await world.advance(1_000)
    assert world.shown() == [0, 0, 0]
    offsets.is_loading = False
    await world.advance(transaction_marker_writer.LOADING_RETRY_MS)
    assert world.shown() == [1, 1, 0]
    assert [told[:3] for told in offsets.told] == [("append", 7, True), ("release", 7, True)]
    assert goes or world.txn().state is S.COMPLETE_COMMIT


@pytest.mark.parametrize("count", [1, 2])
async def test_with_every_write_synced_a_decision_precedes_markers_and_markers_the_end(count: int) -> None:
    world = TransactionalBroker({"log.flush.interval.messages": "1"})
    producer = await world.written(*range(count))
    calls_before = len(world.files.calls)
    await world.end(producer, commit=True)
    await world.until(finish_transactions(world.coordinator))
    await settle()
    calls = [
        (call.name, "state" if "__transaction_state" in call.path else call.path.split("/")[2])
        for call in world.files.calls[calls_before:]
        if call.name in ("pwrite", "sync") and call.path.endswith(".log")
    ]
    logs = [f"t-{number}" for number in range(count)]
    assert calls[:2] == [("pwrite", "state"), ("sync", "state")]
    assert sorted(calls[2 : 2 + count]) == [("pwrite", log) for log in logs]
    assert sorted(calls[2 + count : 2 + 2 * count]) == [("sync", log) for log in logs]
    assert calls[2 + 2 * count] == ("pwrite", "state")
    assert world.txn().state is S.COMPLETE_COMMIT


async def test_the_only_partition_is_written_to_when_it_can(
    world: TransactionalBroker, caplog: pytest.LogCaptureFixture
) -> None:
    producer = await world.written(1)
    world.files.fail("pwrite", path="t-1/")
    with caplog.at_level(logging.INFO, "barnabas"):
        assert (await world.end(producer, commit=True)).error is E.NONE
        assert (await world.end(producer, commit=True)).error is E.CONCURRENT_TRANSACTIONS
        world.files.heal()
        await world.advance(transaction_marker_writer.BROKEN_RETRY_MS)
    assert world.shown() == [0, 1, 0]
    assert world.txn().state is S.COMPLETE_COMMIT
    told = [message for message in caplog.messages if message.startswith("marker")]
    assert [message.split(",")[0] for message in told] == [
        "marker refused",
        "marker written after retries transactional_id=tx topic=t partition=1",
    ]


@pytest.mark.parametrize("count", [1, 2])
async def test_when_a_marker_cannot_be_synced_the_transaction_stays_prepared_for_the_next_run(count: int) -> None:
    world = TransactionalBroker({"log.flush.interval.messages": "1"})
    producer = await world.written(*range(count))
    world.files.fail("sync", path=f"t-{count - 1}/")
    assert (await world.end(producer, commit=True)).error is E.NONE
    await world.until(finish_transactions(world.coordinator))
    assert world.txn().state is S.PREPARE_COMMIT
    world.files.heal()
    after = await world.restart("nothing")
    assert after.txn().state is S.COMPLETE_COMMIT
    assert after.shown() == [1] * count + [0] * (3 - count)
