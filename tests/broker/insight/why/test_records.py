"""What became of a record: every fate and every place an offset can be, brought about in a broker in memory."""

import errno
from typing import Any

import pytest

from barnabas.broker.http.registry.listener import RegistryListener
from barnabas.broker.insight.why import records as records_of_why
from barnabas.protocol.records.builder import build_batch
from barnabas.registry.decisions.parsing import SchemaWish
from tests.broker.partitions.test_cleaning import append as append_keyed
from tests.broker.partitions.test_cleaning import cleaned, world_of
from tests.support.files.log_directories import flush
from tests.support.inspected_broker import Inspected
from tests.support.records.committed import records
from tests.support.why import Asked
from tests.support.worlds.transactional_broker import TransactionalBroker

AT = "2023-11-14T22:13:20.000Z"


@pytest.mark.parametrize(
    ("is_commit", "fate", "seen"),
    [
        (True, "committed", "Every consumer can see it."),
        (False, "aborted", "Consumers with isolation.level=read_uncommitted see it; read_committed ones never will."),
    ],
)
async def test_a_record_of_a_transaction_that_ended_and_its_marker(
    world: Inspected, is_commit: bool, fate: str, seen: str, asked: Asked
) -> None:
    mine = await world.begin("tx", ("t", 0))
    world.append("t", b"other")
    await world.end("tx", mine, is_commit=is_commit)
    answer = await asked.record("t", 0, 0)
    assert list(answer.sentences) == [
        f"Offset 0 of t-0 is {fate}, in a transaction of producer 0 epoch 0, transactional id tx, "
        f"by the marker at offset 2 at {AT}.",
        seen,
    ]
    evidence: Any = answer.evidence
    assert (evidence["fate"], evidence["marker"]["offset"], evidence["marker"]["is_commit"]) == (fate, 2, is_commit)
    kind = "COMMIT" if is_commit else "ABORT"
    marker = str(await asked.record("t", 0, 2))
    assert (
        f"Offset 2 of t-0 is a transaction marker, {kind} of producer 0, transactional id tx, written at {AT}."
        in marker
    )
    assert "consumers never receive it" in marker


async def test_an_open_record_and_one_behind_it(world: Inspected, asked: Asked) -> None:
    await world.begin("tx", ("t", 0))
    world.append("t", b"plain")
    opened = await asked.record("t", 0, 0)
    assert list(opened.sentences) == [
        "Offset 0 of t-0 is open: the transaction of producer 0 epoch 0, transactional id tx has not ended.",
        "Consumers with isolation.level=read_uncommitted see it; others when it is committed.",
        "The transaction is that of transactional id tx (producer 0, epoch 0), begun 0 ms ago.",
        "It ends when its producer sends EndTxn, or by its timeout in 10 min (at 2023-11-14T22:23:20.000Z); "
        "`barnabas txn abort tx` ends it now.",
    ]
    behind = await asked.record("t", 0, 1)
    assert list(behind.sentences[:3]) == [
        "Offset 1 of t-0 is a record in no transaction.",
        "Consumers with isolation.level=read_uncommitted see it; others stop at offset 0, the last stable offset.",
        "t-0 is held by transactional id tx (producer 0, epoch 0), begun 0 ms ago.",
    ]


async def test_a_record_that_is_committed_and_not_shown_since_another_partition_has_no_marker() -> None:
    world = TransactionalBroker()
    await world.broker.broker.start()
    producer = await world.written(0, 1)
    world.files.fail("pwrite", errno.ENOSPC, path="/t-1/")
    await producer.end(commit=True)
    await world.advance(1_000)
    answer = str(await Asked(world.broker.services).record("t", 0, 0))
    assert "Offset 0 of t-0 is committed" in answer
    assert "others stop at offset 0, the last stable offset." in answer
    assert "t-1: its disk is full" in answer
    world.files.heal()
    await world.advance(20_000)
    assert "Every consumer can see it." in str(await Asked(world.broker.services).record("t", 0, 0))
    await world.until(world.close())


async def test_a_plain_and_an_idempotent_record_and_one_that_is_not_replicated(world: Inspected, asked: Asked) -> None:
    world.append("t", b"a")
    world.append("t", b"b", producer=(77, 3, 0))
    assert (
        str(await asked.record("t", 0, 0))
        == "Offset 0 of t-0 is a record in no transaction.\nEvery consumer can see it."
    )
    assert "It was written by producer 77 epoch 3 (idempotent)." in str(await asked.record("t", 0, 1))
    world.demand_replicas("t", 2)
    world.append("t", b"c")
    assert "it is beyond the high watermark, since too few replicas are in sync" in str(await asked.record("t", 0, 2))


async def test_offsets_that_are_not_in_the_log(world: Inspected, asked: Asked) -> None:
    world.append("t", b"a", b"b")
    world.services.partitions.delete_records_before("t", 0, 1)
    assert str(await asked.record("t", 0, 0)).startswith(
        "Offset 0 of t-0 is below the log's start, 1: retention or DeleteRecords removed it."
    )
    assert str(await asked.record("t", 0, 2)) == "Offset 2 of t-0 is not written yet: the log ends at 2."
    assert str(await asked.record("t", 1, 0)) == "Offset 0 of t-1 is not written yet: the log ends at 0."
    assert str(await asked.record("t", 5, 0)) == ("t-5 cannot be read: the topic has 2 partitions, numbered from 0.")
    assert str(await asked.record("no\nsuch", 0, 0)) == r"no\nsuch-0 cannot be read: there is no topic no\nsuch."


async def test_the_records_removed_by_compaction() -> None:
    world = world_of()
    log = append_keyed(world)
    await cleaned(world)
    left = sorted(records(log))
    gone = next(offset for offset in range(log.log_end_offset) if offset not in left)
    behind = next(offset for offset in left if offset > gone)
    answer = str(await Asked(world.services).record("t", 0, gone))
    assert answer.startswith(f"Offset {gone} of t-0 is gone: compaction removed it")
    assert f"The next offset that exists is {behind}." in answer
    assert "is a record in no transaction" in str(await Asked(world.services).record("t", 0, left[-1]))


async def test_the_records_of_a_batch_removed_by_compaction() -> None:
    world = world_of()
    partitions = world.services.partitions
    for values in ((b"a", b"b"), (b"a",), (b"c",)):
        world.clock.advance(20)
        rows = [(value, b"v", (), world.clock.now_ms()) for value in values]
        partitions.append("t", 0, bytearray(build_batch(rows)))
    log = partitions.get("t", 0)
    flush(log)
    await cleaned(world)
    assert 0 not in records(log)
    answer = str(await Asked(world.services).record("t", 0, 0))
    assert answer.startswith("Offset 0 of t-0 is gone: compaction removed it")
    assert "The next offset that exists is 1." in answer
    assert "is a record in no transaction" in str(await Asked(world.services).record("t", 0, 1))


async def test_a_marker_far_away_is_not_looked_for_without_end(
    world: Inspected, monkeypatch: pytest.MonkeyPatch, asked: Asked
) -> None:
    monkeypatch.setattr(records_of_why, "BATCHES_MAX", 3)
    mine = await world.begin("tx", ("t", 0))
    for _ in range(5):
        world.append("t", b"x")
    await world.end("tx", mine, is_commit=True)
    answer = str(await asked.record("t", 0, 0))
    assert (
        "is committed, in a transaction of producer 0 epoch 0, transactional id tx; its marker is not among" in answer
    )
    mine = await world.begin("ty", ("t", 0))
    for _ in range(5):
        world.append("t", b"x")
    await world.end("ty", mine, is_commit=False)
    aborted = str(await asked.record("t", 0, 7))
    assert "is aborted" in aborted
    assert "by the marker at offset 13" in aborted, "the index of aborted transactions has it"


async def test_a_log_that_cannot_be_read(world: Inspected, asked: Asked) -> None:
    world.append("t", b"a")
    world.files.fail("pread", errno.EIO, path="/t-0/")
    answer = str(await asked.record("t", 0, 0))
    assert answer.startswith("t-0 cannot be read: ")
    world.files.heal()


async def test_a_record_with_a_schema(world: Inspected) -> None:
    listener = RegistryListener(world.services, world.machine_clock)
    asked = Asked(world.services, registry=lambda: listener)
    registry = await listener.current()
    await registry.register("t-value", SchemaWish("AVRO", '"string"'))
    await registry.register("t-value", SchemaWish("AVRO", '["null", "string"]'))
    for value in (b"\0\0\0\0\2\0", b"\0\0\0\0\7", b"text"):
        world.append("t", value)
    found = [list((await asked.record("t", 0, offset)).sentences[2:]) for offset in range(3)]
    assert found == [
        ["The schema of its value is version 2 of subject t-value (id 2, AVRO)."],
        ["Its value begins like one with schema id 7, which is not in the registry."],
        [],
    ]
    evidence: Any = (await asked.record("t", 0, 0)).evidence
    assert evidence["schemas"][0]["subject"] == "t-value"
    assert "schemas" not in (await Asked(world.services).record("t", 0, 0)).evidence
