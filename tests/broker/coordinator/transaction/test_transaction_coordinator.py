"""The transaction coordinator over real partitions: what readers see, what a crash leaves, what the clock does."""

from dataclasses import replace
from functools import partial

import pytest

from barnabas.broker.coordinator.transaction import transaction_coordinator, transaction_marker_writer
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState as S
from barnabas.broker.coordinator.transaction.prepared_transactions import finish_transactions
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.records.builder import build_batch
from barnabas.storage.log.append import AppendOrigin
from tests.support.files.memory_files import PowerCut
from tests.support.worlds.broker import code_of, settle
from tests.support.worlds.transactional_broker import STATE_PARTITIONS, TIMEOUT_MS, Producer, TransactionalBroker


@pytest.mark.parametrize("version", [11, 12, 13])
async def test_committed_transactions_are_read_and_aborted_ones_not(world: TransactionalBroker, version: int) -> None:
    producer = await world.producer()
    for value, commit in ((b"no", False), (b"yes", True)):
        if version < 12:
            assert await world.add(producer, ("t", 0), ("t", 1)) is E.NONE
        for partition in (0, 1):
            assert (await producer.send(value, partition, version=version)).error_code == E.NONE
        assert world.read(0) == world.read(1) == []
        assert (await producer.end(commit=commit, version=2 if version >= 12 else 0)).error is E.NONE
        assert world.txn().state is (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)
    assert world.read(0) == world.read(1) == [b"yes"]
    assert world.read(0, committed=False) == [b"no", b"yes"]


async def test_a_small_transaction_is_complete_when_its_end_is_answered(world: TransactionalBroker) -> None:
    producer = await world.producer()
    await producer.send(b"a")
    assert world.txn().state is S.ONGOING
    reply = await producer.end(commit=True)
    assert (reply.producer_id, reply.producer_epoch) == (producer.id, 1)
    assert world.txn().state is S.COMPLETE_COMMIT
    assert (await producer.send(b"b")).error_code == E.NONE, "nobody meets CONCURRENT_TRANSACTIONS"


async def test_a_second_producer_of_the_same_id_fences_the_first(world: TransactionalBroker) -> None:
    first = await world.producer()
    await first.send(b"lost")
    assert (await world.init()).error is E.CONCURRENT_TRANSACTIONS
    second = await world.producer()
    assert second.epoch > first.epoch
    assert (await first.send(b"zombie")).error_code == E.INVALID_PRODUCER_EPOCH
    assert (await first.end(commit=True)).error is E.PRODUCER_FENCED
    await second.send(b"kept")
    await second.end(commit=True)
    assert world.read() == [b"kept"]


async def test_ids_that_cannot_be_are_refused(world: TransactionalBroker) -> None:
    producer = await world.producer()
    coordinator = world.coordinator
    for transactional_id in ("", "x" * 40_000):
        assert code_of(partial(coordinator.describe, transactional_id)) is E.INVALID_REQUEST
        verify = partial(coordinator.verify_partitions, transactional_id, producer.id, 0, [("t", 0)])
        assert code_of(verify) is E.INVALID_REQUEST


# --- crashes ---


async def _story(world: TransactionalBroker, *, commit: bool) -> None:
    """One transaction over two partitions, and one that stays open beside it."""
    other = await world.producer("other")
    await other.send(b"open", 2)
    producer = await world.producer()
    await producer.send(b"a", 0)
    await producer.send(b"b", 1)
    reply = await world.end(producer, commit=commit)
    assert reply.error is E.NONE
    await world.until(finish_transactions(world.coordinator))


@pytest.mark.parametrize(
    ("flushing", "step"),
    [
        pytest.param(False, 1, id="kill"),
        pytest.param(True, 5, id="power cut, flushing"),
        pytest.param(True, 1, id="power cut, flushing, at every change", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
async def test_killed_before_any_write_a_transaction_is_whole_or_absent(
    commit: bool, flushing: bool, step: int
) -> None:
    settings = {"log.flush.interval.messages": "1"} if flushing else {}
    whole = TransactionalBroker(settings)
    first = whole.files.changes_made
    await _story(whole, commit=commit)
    last = whole.files.changes_made
    outcomes = set()
    for change in range(first, last + 1, step):
        outcomes.add(await _killed_at(change, settings, commit=commit))
    assert outcomes == {(S.COMPLETE_COMMIT, 1)} | _UNDECIDED if commit else {(S.COMPLETE_ABORT, 0)} | _UNDECIDED


_UNDECIDED = {(None, 0), (S.EMPTY, 0), (S.ONGOING, 0)}


async def _killed_at(change: int, settings: dict[str, str], *, commit: bool) -> tuple[S | None, int]:
    """The state of the transaction after a restart, and how many of each partition's records are read."""
    world = TransactionalBroker(settings)
    world.files.cut_power_at(change)
    answered = False
    try:
        await _story(world, commit=commit)
        answered = True
    except PowerCut:
        pass  # `answered` stays False
    world = await world.restart("nothing" if settings else "kill")
    assert not [txn for txn in world.coordinator.transactions() if txn.state.is_prepared]
    found = next((txn for txn in world.coordinator.transactions() if txn.transactional_id == "tx"), None)
    counts = {len(world.read(0)), len(world.read(1))}
    assert len(counts) == 1, "of both partitions, or of none"
    if answered:
        assert found is not None
        assert found.state is (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)
    again = await world.producer()  # whoever comes next may go on
    await again.send(b"next", 0)
    await again.end(commit=True)
    await world.producer()  # is there once that transaction is complete: its end is answered before
    assert world.read(0)[-1] == b"next"
    await world.close()
    return None if found is None else found.state, counts.pop()


async def test_a_producer_that_was_in_the_middle_goes_on_and_commits_after_a_kill(world: TransactionalBroker) -> None:
    producer = await world.producer()
    await producer.send(b"before")
    after = await world.restart("kill")
    world.broker.is_closed = True
    await producer.send(b"after", world=after)
    assert (await after.end(producer, commit=True)).error is E.NONE
    assert after.read() == [b"before", b"after"]


async def test_after_a_clean_stop_all_is_loaded_soon_so_that_what_is_open_times_out(world: TransactionalBroker) -> None:
    producer = await world.producer()
    await producer.send(b"lost")
    after = await world.restart("stop")
    assert after.broker.services.deferred_transactions.built is None, "a start does not wait for it"
    await after.advance(1_100)
    assert len(list(after.coordinator.loaded())) == STATE_PARTITIONS
    await after.advance(TIMEOUT_MS + 10_000)
    assert after.txn().state is S.COMPLETE_ABORT
    assert after.log().last_stable_offset == after.log().high_watermark


async def test_a_stop_finishes_what_is_prepared(world: TransactionalBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_marker_writer, "WRITING", replace(transaction_marker_writer.WRITING, steps_max=1))
    producer = await world.producer()
    await producer.send(b"a", 0)
    await producer.send(b"a", 1)
    await world.end(producer, commit=True)
    assert world.txn().state is S.PREPARE_COMMIT
    after = await world.restart("stop")
    assert after.read(0) == after.read(1) == [b"a"]
    assert after.txn().state is S.COMPLETE_COMMIT


# --- time ---


@pytest.mark.parametrize("version", [0, 2])
async def test_an_expired_transaction_is_aborted_and_its_producer_fenced(
    world: TransactionalBroker, version: int
) -> None:
    world.broker.services.catalogue.set_features({"transaction.version": version})
    producer = await world.producer(timeout_ms=25_000)
    await world.advance(100_000)
    assert world.txn().state is S.EMPTY, "the time begins with the first partition"
    await world.add(producer, ("t", 0))
    await producer.send(b"late", version=11)
    await world.advance(24_000)
    assert world.txn().state is S.ONGOING
    await world.advance(10_000)
    assert world.txn().state is S.COMPLETE_ABORT
    assert world.txn().producer_epoch == producer.epoch + 1
    assert world.read(committed=True) == []
    assert world.log().last_stable_offset == world.log().high_watermark == 2
    assert (await producer.send(b"zombie", version=11)).error_code == E.INVALID_PRODUCER_EPOCH
    assert (await world.end(producer, commit=True, version=0)).error is E.PRODUCER_FENCED


async def test_an_id_that_nobody_used_for_long_is_dropped_with_a_tombstone() -> None:
    world = TransactionalBroker({"transactional.id.expiration.ms": "7200000"})
    busy, idle = await world.producer("busy"), await world.producer("idle")
    await world.advance(3_600_000)
    await busy.send(b"v")
    await busy.end(commit=True)
    await world.advance(3_600_000 * 1.5)
    assert [txn.transactional_id for txn in world.coordinator.transactions()] == ["busy"]
    assert [value for _, value in world.state_records() if value is None] == [None]
    assert (await world.end(idle, commit=True)).error is E.INVALID_PRODUCER_ID_MAPPING
    assert (await world.producer("idle")).id not in (idle.id, busy.id)
    after = await world.restart("kill")
    assert {txn.transactional_id for txn in after.coordinator.transactions()} == {"busy", "idle"}


async def test_an_open_transaction_never_expires_and_one_of_a_two_phase_commit_never_times_out() -> None:
    world = TransactionalBroker(
        {"transaction.two.phase.commit.enable": "true", "transactional.id.expiration.ms": "7200000"}
    )
    reply = await world.init(enable_2pc=True)
    producer = Producer(world, "tx", reply.producer_id, reply.producer_epoch)
    await producer.send(b"v")
    await world.advance(90_000_000)
    assert world.txn().state is S.ONGOING


async def test_many_timeouts_are_worked_off_with_others_served_in_between(
    world: TransactionalBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_coordinator, "SWEEP", replace(transaction_coordinator.SWEEP, steps_max=1))
    for number in range(6):
        producer = await world.producer("tx" + "\0" * number, timeout_ms=1_000)  # all hash to their own place
        await producer.send(b"v")
    world.broker.clock.advance(10_000)
    left = {txn.state for txn in world.coordinator.transactions()}
    await world.until(finish_transactions(world.coordinator))
    assert S.COMPLETE_ABORT in left
    assert {txn.state for txn in world.coordinator.transactions()} == {S.COMPLETE_ABORT}


async def test_a_sweep_over_a_topic_that_is_deleted_writes_nothing_into_the_next_of_its_name(
    world: TransactionalBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_coordinator, "SWEEP", replace(transaction_coordinator.SWEEP, steps_max=1))
    for number in range(3):
        await (await world.producer("tx" + "\0" * number * STATE_PARTITIONS, timeout_ms=1_000)).send(b"v")
    world.broker.clock.advance(10_000)
    world.broker.services.catalogue.delete_topics(["__transaction_state"])
    world.coordinator.prepare("tx")
    await settle()
    assert world.state_records() == []


# --- looking ---


async def test_a_switch_of_the_protocol_takes_effect_at_once(world: TransactionalBroker) -> None:
    versions = []
    for version in (2, 0, 1):
        world.broker.services.catalogue.set_features({"transaction.version": version})
        producer = await world.producer()
        await producer.send(b"v")
        await producer.end(commit=True)
        versions.append(world.state_records()[-1][1][:2])  # type: ignore[index]  # because these are no tombstones
    assert versions == [b"\0\1", b"\0\0", b"\0\1"]


async def test_everything_loads_when_all_transactions_are_requested(world: TransactionalBroker) -> None:
    await world.producer("a")
    await world.producer("b")
    after = await world.restart("stop")
    assert {txn.transactional_id for txn in after.coordinator.transactions()} == {"a", "b"}
    assert after.coordinator.describe("nobody") is None


async def test_a_partition_that_is_not_understood_serves_nobody_and_stops_no_start(world: TransactionalBroker) -> None:
    await world.producer("a")
    index = world.coordinator._partitions.index_of("a")
    other = next(name for name in "bcdefgh" if world.coordinator._partitions.index_of(name) != index)
    record = build_batch([(b"\0\0\0\1a", b"\0\x09", (), 0)])
    world.broker.services.partitions.append("__transaction_state", index, record, origin=AppendOrigin.COORDINATOR)
    after = await world.restart("kill")
    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        await after.init("a")
    assert (await after.init(other)).error is E.NONE
