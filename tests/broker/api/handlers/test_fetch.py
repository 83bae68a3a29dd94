"""Fetch over real logs in memory: long polls, the broker's limit, a failing disk. tests/golden/probes asks the rest."""

import errno
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.control import EndTxnMarker
from tests.support import requests
from tests.support.worlds.broker import BrokerWorld, settle

E = ErrorCode
BY_ID_SINCE = 13
READ_COMMITTED = 1


def asking(world: BrokerWorld, *partitions: int, **more: Any) -> FetchRequest:
    """Of the topic `t`, as `requests.fetch` says."""
    return requests.fetch(*partitions, topic_id=world.services.catalogue.topics["t"].topic_id, **more)


def partitions_of(answer: Any) -> list[Any]:
    assert answer.error_code == E.NONE
    return [each for topic in answer.responses for each in topic.partitions]


def batch_offsets(partition: Any) -> list[int]:
    return [header.base_offset for _, header in iter_batches(partition.records)]


async def test_the_brokers_own_limit_counts_too() -> None:
    small = BrokerWorld({"fetch.max.bytes": "1024"}, topics={"t": 1})
    for _ in range(3):
        small.append("t", bytes(600))
    (result,) = partitions_of(await small.ask(asking(small)))
    assert batch_offsets(result) == [0]


async def test_a_fetch_waits_for_min_bytes_and_no_longer_than_it_asked_to(world: BrokerWorld) -> None:
    peer = world.connect()
    world.append("t", bytes(500))
    peer.ask(asking(world, 0, 1, wait_ms=500, min_bytes=2000))
    for _ in range(2):  # which is 1,704 bytes with the headers
        world.append("t", bytes(500))
        await settle()
        assert peer.answers() == []
    world.append("t", bytes(500), partition=1)
    await settle()
    assert [batch_offsets(each) for each in partitions_of(peer.answer())] == [[0, 1, 2], [0]]
    peer.ask(asking(world, offset=3, wait_ms=500))
    world.clock.advance(499)
    await settle()
    assert peer.answers() == []
    world.clock.advance(1)
    await settle()
    (result,) = partitions_of(peer.answer())
    assert len(result.records) == 0


@pytest.mark.pure
async def test_a_fetch_that_waits_for_many_bytes_looks_only_at_what_something_came_to(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer, looked_at = world.connect(), []
    peer.ask(asking(world, 0, 1, 2, wait_ms=500, min_bytes=2000))
    get_to_read = type(world.services.partitions).get_to_read

    def noting(partitions: Any, topic: str, number: int, *how: bool) -> Any:
        looked_at.append(number)
        return get_to_read(partitions, topic, number, *how)

    monkeypatch.setattr(type(world.services.partitions), "get_to_read", noting)
    for number in (2, 0):
        world.append("t", bytes(500), partition=number)
    assert looked_at == [2, 0]


async def test_a_parked_fetch_is_answered_with_all_that_came_until_then_and_reads_nothing_else_again(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = world.asking(asking(world, 0, 1, 2, wait_ms=500))

    def read_again(*_: object, **__: object) -> None:
        raise AssertionError("nothing happened to this partition")

    monkeypatch.setattr(world.services.partitions.get("t", 1), "read", read_again)
    world.append("t", b"a", partition=2)
    world.append("t", b"b")
    world.append("t", b"c", partition=2)
    await settle()
    results = partitions_of(peer.answer())
    assert [(each.partition_index, batch_offsets(each)) for each in results] == [(0, [0]), (1, []), (2, [0, 1])]
    assert [each.high_watermark for each in results] == [1, 0, 2]


async def test_limits_hold_for_a_parked_fetch_too(world: BrokerWorld) -> None:
    asked = asking(world, 0, 1, 2, wait_ms=500)
    asked.max_bytes = 1500
    peer = world.asking(asked)
    for partition in (2, 1):
        world.append("t", bytes(1000), partition=partition)
    await settle()
    results = partitions_of(peer.answer())
    assert [len(each.records) for each in results[:2]] == [0, len(world.batch(bytes(1000)))]
    assert sum(len(each.records) for each in results) <= 1500


async def test_a_partition_that_is_requested_twice_is_answered_twice(world: BrokerWorld) -> None:
    peer = world.asking(asking(world, 0, 0, wait_ms=500))
    world.append("t", b"a", b"b")
    await settle()
    assert [batch_offsets(each) for each in partitions_of(peer.answer())] == [[0], [0]]


@pytest.mark.parametrize("version", [12, 13])
async def test_unknown_partitions_do_not_end_a_waiting_fetch(world: BrokerWorld, version: int) -> None:
    asked = asking(world, 0, 9, wait_ms=500, min_bytes=1500)
    asked.topics += requests.fetch(topic="missing", topic_id=b"unknown id here!").topics
    peer = world.asking(asked, version)
    world.append("t", bytes(1000))
    await settle()
    assert peer.answers() == []
    world.append("t", bytes(1000))
    await settle()
    found, *unknown = partitions_of(peer.answer())
    assert batch_offsets(found) == [0, 1]
    assert {each.partition_index: each.error_code for each in unknown} == {
        9: E.UNKNOWN_TOPIC_OR_PARTITION,
        0: E.UNKNOWN_TOPIC_OR_PARTITION if version < BY_ID_SINCE else E.UNKNOWN_TOPIC_ID,
    }


@pytest.mark.parametrize(
    ("happens", "code"),
    [
        (lambda world: world.services.catalogue.delete_topics(["t"]), E.UNKNOWN_TOPIC_OR_PARTITION),
        (lambda world: world.services.partitions.delete_records_before("t", 0, 1), E.OFFSET_OUT_OF_RANGE),
        (lambda world: world.connect().ask(requests.delete_records("t", 1)), E.OFFSET_OUT_OF_RANGE),
    ],
    ids=["a topic is deleted", "records are deleted", "another client deletes records"],
)
async def test_a_parked_fetch_learns_what_happened(
    world: BrokerWorld, happens: Callable[[BrokerWorld], object], code: E
) -> None:
    world.append("t", b"a", b"b")
    peer = world.asking(asking(world, wait_ms=60_000, min_bytes=10_000), 12)
    happens(world)
    await settle()
    (result,) = partitions_of(peer.answer())
    assert result.error_code == code


async def test_a_committed_reader_is_woken_by_the_end_of_the_transaction_and_not_before(world: BrokerWorld) -> None:
    peer = world.asking(asking(world, wait_ms=60_000, isolation_level=READ_COMMITTED))
    world.append("t", b"a", producer=(7, 0, 0), transactional=True)
    await settle()
    assert peer.answers() == []
    world.services.partitions.append_marker("t", 0, EndTxnMarker(True, 7, 0, 0, -1, world.clock.now_ms()))
    await settle()
    (result,) = partitions_of(peer.answer())
    assert batch_offsets(result) == [0, 1]


async def test_a_fetch_of_nothing_is_answered_at_once(world: BrokerWorld) -> None:
    assert partitions_of(await world.ask(asking(world, wait_ms=60_000, topics=[]))) == []


async def test_an_isolation_level_that_does_not_exist_is_refused_where_the_answer_has_no_code(
    world: BrokerWorld,
) -> None:
    world.append("t", b"a")
    (result,) = partitions_of(await world.ask(asking(world, isolation_level=2), 4))
    assert (result.error_code, bytes(result.records)) == (E.INVALID_REQUEST, b"")


async def test_a_disk_that_fails_while_a_response_is_sent_closes_the_connection(world: BrokerWorld) -> None:
    world.append("t", bytes(10_000))
    peer = world.connect()
    world.files.fail("pread", errno.EIO, path="t-0", skip=1)  # the first finds the batch
    peer.ask(asking(world))
    assert peer.is_closed
    world.files.heal()
    (result,) = partitions_of(await world.ask(asking(world)))
    assert batch_offsets(result) == [0]
