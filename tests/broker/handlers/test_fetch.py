"""Fetch over real logs in memory: versions, limits, long polls, sessions, epochs, the code of each partition."""

import errno
from typing import Any

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.control import EndTxnMarker
from barnabas.protocol.registry import ApiKey
from tests.support.worlds.broker import BrokerWorld, Peer, settle

E = ErrorCode
VERSIONS = range(ApiKey.FETCH.min_version, ApiKey.FETCH.max_version + 1)
BY_ID_SINCE = 13
READ_COMMITTED = 1


def append(world: BrokerWorld, partition: int, *values: bytes, transactional_id: int | None = None) -> None:
    producer = None if transactional_id is None else (transactional_id, 0, 0)
    batch = world.batch(*values, producer=producer, transactional=producer is not None)
    world.services.partitions.append("t", partition, bytearray(batch))


def end_transaction(world: BrokerWorld, partition: int, producer_id: int, *, commit: bool) -> None:
    marker = EndTxnMarker(commit, producer_id, 0, 0, -1, world.clock.now_ms())
    world.services.partitions.append_marker("t", partition, marker)


def request(
    world: BrokerWorld, *wanted: tuple[int, int], topic: str = "t", max_wait_ms: int = 0, **changes: Any
) -> FetchRequest:
    """A fetch of (partition, offset) pairs; `changes` are fields of the request or of each partition."""
    fields = {"current_leader_epoch", "last_fetched_epoch", "partition_max_bytes"}
    of_partition = {"partition_max_bytes": 1 << 20, **{name: changes.pop(name) for name in fields & changes.keys()}}
    topics = world.services.catalogue.topics
    asked = FetchTopic(
        topic=topic,
        topic_id=topics[topic].topic_id if topic in topics else b"unknown id here!",
        partitions=[FetchPartition(partition=each, fetch_offset=offset, **of_partition) for each, offset in wanted],
    )
    return FetchRequest(**{"max_wait_ms": max_wait_ms, "min_bytes": 1, "topics": [asked], **changes})


def partitions_of(answer: Any) -> list[Any]:
    assert answer.error_code == E.NONE
    return [each for topic in answer.responses for each in topic.partitions]


async def fetch(world: BrokerWorld, asked: FetchRequest, version: int | None = None) -> list[Any]:
    """The partitions of the answer, which comes at once."""
    peer = world.connect()
    peer.ask(asked, version)
    return partitions_of(peer.answer())


def batch_offsets(partition: Any) -> list[int]:
    return [header.base_offset for _, header in iter_batches(partition.records)]


@pytest.mark.parametrize("version", VERSIONS)
async def test_batches_are_given_from_the_one_that_holds_the_offset_in_every_version(
    world: BrokerWorld, version: int
) -> None:
    for values in ((b"a", b"b"), (b"c", b"d"), (b"e",)):
        append(world, 1, *values)
    (result,) = await fetch(world, request(world, (1, 3)), version)
    assert (result.partition_index, result.error_code) == (1, E.NONE)
    assert batch_offsets(result) == [2, 4]
    assert (result.high_watermark, result.last_stable_offset) == (5, 5)
    assert result.log_start_offset == (0 if version >= 5 else -1)
    assert result.aborted_transactions is None
    assert result.preferred_read_replica == -1


@pytest.mark.parametrize(
    ("wanted", "topic", "version", "code"),
    [
        ((0, 4), "t", 12, E.OFFSET_OUT_OF_RANGE),
        ((0, -1), "t", 12, E.OFFSET_OUT_OF_RANGE),
        ((9, 0), "t", 12, E.UNKNOWN_TOPIC_OR_PARTITION),
        ((9, 0), "t", 13, E.UNKNOWN_TOPIC_OR_PARTITION),
        ((0, 0), "missing", 12, E.UNKNOWN_TOPIC_OR_PARTITION),
        ((0, 0), "missing", 13, E.UNKNOWN_TOPIC_ID),
    ],
)
async def test_a_partition_that_cannot_be_read_is_answered_with_its_code_at_once(
    world: BrokerWorld, wanted: tuple[int, int], topic: str, version: int, code: E
) -> None:
    append(world, 0, b"a", b"b", b"c")
    (result,) = await fetch(world, request(world, wanted, topic=topic, max_wait_ms=60_000), version)
    assert (result.error_code, len(result.records)) == (code, 0)
    assert (result.high_watermark, result.last_stable_offset, result.log_start_offset) == (-1, -1, -1)


async def test_the_end_of_the_log_is_no_error(world: BrokerWorld) -> None:
    append(world, 0, b"a")
    (result,) = await fetch(world, request(world, (0, 1)))
    assert (result.error_code, len(result.records), result.high_watermark) == (E.NONE, 0, 1)


async def test_a_client_that_knows_another_leader_epoch_is_told(world: BrokerWorld) -> None:
    append(world, 0, b"a")
    epoch = world.services.catalogue.current_leader_epoch("t", 0)
    found = [
        (await fetch(world, request(world, (0, 0), current_leader_epoch=epoch + difference)))[0].error_code
        for difference in (-1, 0, 1)
    ]
    assert found == [E.FENCED_LEADER_EPOCH if epoch > 0 else E.NONE, E.NONE, E.UNKNOWN_LEADER_EPOCH]


async def test_a_reader_whose_log_has_gone_another_way_is_told_where(world: BrokerWorld) -> None:
    append(world, 0, b"a", b"b")
    epoch = world.services.catalogue.current_leader_epoch("t", 0)
    (result,) = await fetch(world, request(world, (0, 5), last_fetched_epoch=epoch))
    assert result.error_code == E.NONE
    assert (result.diverging_epoch.epoch, result.diverging_epoch.end_offset) == (epoch, 2)
    (result,) = await fetch(world, request(world, (0, 0), last_fetched_epoch=epoch))
    assert result.diverging_epoch is None
    assert batch_offsets(result) == [0]
    (result,) = await fetch(world, request(world, (0, 0), last_fetched_epoch=epoch + 7))
    assert result.error_code == E.OFFSET_OUT_OF_RANGE


async def test_the_first_partition_with_data_gives_a_whole_batch_and_the_sum_stays_below_the_limit(
    world: BrokerWorld,
) -> None:
    for partition in (1, 2):
        for _ in range(3):
            append(world, partition, bytes(1000))
    first, second, third = await fetch(world, request(world, (0, 0), (1, 0), (2, 0), max_bytes=10))
    assert len(first.records) == 0
    assert batch_offsets(second) == [0]
    assert len(third.records) == 0
    _, second, third = await fetch(world, request(world, (0, 0), (1, 0), (2, 0), max_bytes=5000))
    assert batch_offsets(second) == [0, 1, 2]
    assert len(second.records) + len(third.records) == 5000, "the last batch is cut, as Kafka cuts it"
    (result,) = await fetch(world, request(world, (1, 0), partition_max_bytes=2500))
    assert len(result.records) == 2500
    assert batch_offsets(result) == [0, 1]


async def test_the_brokers_own_limit_counts_too(world: BrokerWorld) -> None:
    small = BrokerWorld({"fetch.max.bytes": "1024"})
    small.services.catalogue.create_topic("t")
    for _ in range(3):
        append(small, 0, bytes(600))
    (result,) = await fetch(small, request(small, (0, 0)))
    assert batch_offsets(result) == [0]


async def test_a_fetch_waits_for_min_bytes_and_no_longer_than_it_asked_to(world: BrokerWorld) -> None:
    peer = world.connect()
    peer.ask(request(world, (0, 0), (1, 0), max_wait_ms=500, min_bytes=2000))
    append(world, 0, bytes(1000))
    await settle()
    assert peer.answers() == []
    append(world, 1, bytes(1000))
    await settle()
    assert [batch_offsets(each) for each in partitions_of(peer.answer())] == [[0], [0]]
    peer.ask(request(world, (0, 1), max_wait_ms=500))
    world.clock.advance(499)
    await settle()
    assert peer.answers() == []
    world.clock.advance(1)
    await settle()
    (result,) = partitions_of(peer.answer())
    assert len(result.records) == 0


async def test_a_parked_fetch_is_answered_with_all_that_came_until_then_and_reads_nothing_else_again(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = world.connect()
    peer.ask(request(world, (0, 0), (1, 0), (2, 0), max_wait_ms=500))

    def read_again(*_: object, **__: object) -> None:
        raise AssertionError("nothing happened to this partition")

    monkeypatch.setattr(world.services.partitions.get("t", 1), "read", read_again)
    append(world, 2, b"a")
    append(world, 0, b"b")
    append(world, 2, b"c")
    await settle()
    results = partitions_of(peer.answer())
    assert [(each.partition_index, batch_offsets(each)) for each in results] == [(0, [0]), (1, []), (2, [0, 1])]
    assert [each.high_watermark for each in results] == [1, 0, 2]


async def test_limits_hold_for_a_parked_fetch_too(world: BrokerWorld) -> None:
    peer = world.connect()
    peer.ask(request(world, (0, 0), (1, 0), (2, 0), max_wait_ms=500, max_bytes=1500))
    for partition in (2, 1):
        append(world, partition, bytes(1000))
    await settle()
    results = partitions_of(peer.answer())
    assert [len(each.records) for each in results[:2]] == [0, len(world.batch(bytes(1000)))]
    assert sum(len(each.records) for each in results) <= 1500


async def test_a_partition_that_is_asked_for_twice_is_answered_twice(world: BrokerWorld) -> None:
    peer = world.connect()
    peer.ask(request(world, (0, 0), (0, 0), max_wait_ms=500))
    append(world, 0, b"a", b"b")
    await settle()
    assert [batch_offsets(each) for each in partitions_of(peer.answer())] == [[0], [0]]


@pytest.mark.parametrize("version", [12, 13])
async def test_what_is_not_known_keeps_no_fetch_from_waiting_for_the_rest(world: BrokerWorld, version: int) -> None:
    asked = request(world, (0, 0), (9, 0), max_wait_ms=500, min_bytes=1500)
    asked.topics += request(world, (0, 0), topic="missing").topics
    peer = world.connect()
    peer.ask(asked, version)
    append(world, 0, bytes(1000))
    await settle()
    assert peer.answers() == []
    append(world, 0, bytes(1000))
    await settle()
    found, *unknown = partitions_of(peer.answer())
    assert batch_offsets(found) == [0, 1]
    assert {each.partition_index: each.error_code for each in unknown} == {
        9: E.UNKNOWN_TOPIC_OR_PARTITION,
        0: E.UNKNOWN_TOPIC_OR_PARTITION if version < BY_ID_SINCE else E.UNKNOWN_TOPIC_ID,
    }


async def test_a_parked_fetch_learns_of_a_deleted_topic(world: BrokerWorld) -> None:
    peer = world.connect()
    peer.ask(request(world, (0, 0), max_wait_ms=60_000), 12)
    world.services.catalogue.delete_topics(["t"])
    await settle()
    (result,) = partitions_of(peer.answer())
    assert result.error_code == E.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_parked_fetch_learns_of_deleted_records(world: BrokerWorld) -> None:
    append(world, 0, b"a", b"b")
    peer = world.connect()
    peer.ask(request(world, (0, 0), max_wait_ms=60_000, min_bytes=10_000), 12)
    world.services.partitions.delete_records_before("t", 0, 1)
    await settle()
    (result,) = partitions_of(peer.answer())
    assert result.error_code == E.OFFSET_OUT_OF_RANGE


async def test_a_parked_fetch_learns_of_records_another_client_deletes(world: BrokerWorld) -> None:
    append(world, 0, b"a", b"b")
    reader, other = world.connect(), world.connect()
    reader.ask(request(world, (0, 0), max_wait_ms=60_000, min_bytes=10_000), 12)
    asked = DeleteRecordsTopic(name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=1)])
    other.ask(DeleteRecordsRequest(topics=[asked], timeout_ms=1000), 2)
    await settle()
    (result,) = partitions_of(reader.answer())
    assert result.error_code == E.OFFSET_OUT_OF_RANGE


async def test_read_committed_stops_at_the_open_transaction_and_names_the_aborted(world: BrokerWorld) -> None:
    append(world, 0, b"plain")
    append(world, 0, b"in a transaction", transactional_id=7)
    append(world, 0, b"after it")
    (committed,) = await fetch(world, request(world, (0, 0), isolation_level=READ_COMMITTED))
    assert (batch_offsets(committed), committed.aborted_transactions) == ([0], [])
    assert (committed.high_watermark, committed.last_stable_offset) == (3, 1)
    (uncommitted,) = await fetch(world, request(world, (0, 0)))
    assert batch_offsets(uncommitted) == [0, 1, 2]
    assert uncommitted.last_stable_offset == 1
    end_transaction(world, 0, 7, commit=False)
    (committed,) = await fetch(world, request(world, (0, 0), isolation_level=READ_COMMITTED))
    assert batch_offsets(committed) == [0, 1, 2, 3]
    assert [(each.producer_id, each.first_offset) for each in committed.aborted_transactions] == [(7, 1)]


async def test_a_committed_reader_is_woken_by_the_end_of_the_transaction_and_not_before(world: BrokerWorld) -> None:
    peer = world.connect()
    peer.ask(request(world, (0, 0), max_wait_ms=60_000, isolation_level=READ_COMMITTED))
    append(world, 0, b"a", transactional_id=7)
    await settle()
    assert peer.answers() == []
    end_transaction(world, 0, 7, commit=True)
    await settle()
    (result,) = partitions_of(peer.answer())
    assert batch_offsets(result) == [0, 1]


@pytest.mark.parametrize("version", [12, 18])
async def test_a_session_answers_only_what_changed(world: BrokerWorld, version: int) -> None:
    append(world, 0, b"a")
    peer = world.connect()

    def ask(session_id: int, epoch: int, *wanted: tuple[int, int], forgotten: tuple[int, ...] = ()) -> Any:
        asked = request(world, *wanted, session_id=session_id, session_epoch=epoch)
        if not wanted:
            asked.topics = []
        if forgotten:
            topic_id = world.services.catalogue.topics["t"].topic_id
            asked.forgotten_topics_data = [ForgottenTopic(topic="t", topic_id=topic_id, partitions=list(forgotten))]
        peer.ask(asked, version)
        return peer.answer()

    opened = ask(0, 0, (0, 1), (1, 0))
    assert opened.session_id > 0
    assert [each.partition_index for each in partitions_of(opened)] == [0, 1]
    assert partitions_of(ask(opened.session_id, 1)) == []
    append(world, 1, b"b")
    assert [each.partition_index for each in partitions_of(ask(opened.session_id, 2))] == [1]
    assert ask(opened.session_id, 9).error_code == E.INVALID_FETCH_SESSION_EPOCH
    assert ask(opened.session_id + 1, 1).error_code == E.FETCH_SESSION_ID_NOT_FOUND
    assert ask(opened.session_id, 3, forgotten=(0, 1)).session_id == 0
    assert ask(opened.session_id, 4).error_code == E.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("level", [-1, 2])
async def test_an_isolation_level_that_does_not_exist_is_refused(world: BrokerWorld, level: int) -> None:
    append(world, 0, b"a")
    asked = request(world, (0, 0), isolation_level=level)
    peer = world.connect()
    peer.ask(asked, 18)
    await settle()
    assert peer.answer().error_code == E.INVALID_REQUEST
    (result,) = await fetch(world, asked, 4)  # the answer has no code of its own yet
    assert (result.error_code, bytes(result.records)) == (E.INVALID_REQUEST, b"")


async def test_a_fetch_of_nothing_is_answered_at_once(world: BrokerWorld) -> None:
    assert await fetch(world, request(world, max_wait_ms=60_000)) == []


async def test_a_disk_that_fails_while_a_response_is_sent_closes_the_connection(world: BrokerWorld) -> None:
    append(world, 0, bytes(10_000))
    peer: Peer = world.connect()
    world.files.fail("pread", errno.EIO, path="t-0", skip=1)  # the first finds the batch
    peer.ask(request(world, (0, 0)))
    assert peer.is_closed
    world.files.heal()
    (result,) = await fetch(world, request(world, (0, 0)))
    assert batch_offsets(result) == [0]
