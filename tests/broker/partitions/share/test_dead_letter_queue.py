"""Dead letters from the acknowledgement to the topic, and what is stored meanwhile: as Apache Kafka 4.4.0 has it."""

import asyncio
from typing import Any, NamedTuple

import pytest

from barnabas.broker.metadata.catalogue.config_alterations import Alteration, AlterConfigOp
from barnabas.broker.metadata.image.image import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from barnabas.broker.partitions.partitions import Partitions
from barnabas.broker.partitions.share.dead_letter_queue import DeadLetterCounts
from barnabas.broker.partitions.share.dead_letters import DeadLetter, DeadLetterCause
from barnabas.broker.partitions.share.persister import NOT_STARTED, SharePartitionKey
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.compression import GZIP
from barnabas.protocol.records.record import iter_records
from barnabas.storage.log.log import PartitionLog
from tests.support.worlds.broker import BrokerWorld, settle, until
from tests.support.worlds.share_world import ShareMember, ShareWorld

ACCEPT, RELEASE, REJECT = 1, 2, 3
REJECTED, WORN_OUT = "Offset rejected by client.", "Offset delivery count exceeded the threshold."
ARCHIVING, ARCHIVED = 3, 4
QUEUE = "dlq.g"


class Letter(NamedTuple):
    """A dead letter, without what all of a test have in common."""

    offset: int
    delivery_count: int
    message: str
    value: bytes | None = None


def world_with_queue(*, settings: dict[str, str] | None = None, **more: Any) -> ShareWorld:
    """A world whose group has a dead-letter topic."""
    world = ShareWorld(settings, **more)
    configs = {"errors.deadletterqueue.group.enable": "true"}
    world.services.catalogue.create_topic(QUEUE, 1, configs)
    world.configure("errors.deadletterqueue.topic.name", QUEUE)
    return world


def letters_in(world: ShareWorld, partition: int = 0, topic: str = QUEUE) -> list[Letter]:
    """The dead letters that were written."""
    log = world.services.partitions.get(topic, partition)
    found = []
    for position, _ in iter_batches(data := log.read_own(0, 1 << 22)):
        for record in iter_records(data[position:]):
            texts = {name: (value or b"").decode() for name, value in record.headers}
            assert texts["__dlq.errors.group"] == "g"
            offset, count = texts["__dlq.errors.offset"], texts["__dlq.errors.delivery.count"]
            found.append(Letter(int(offset), int(count), texts["__dlq.errors.message"], record.value))
    return found


def stored_states(world: ShareWorld) -> list[tuple[int, int, int]]:
    """The first and last offset and the state of each stored range, in the order of the writes."""
    return [each[:3] for update in world.persister.updates for each in update.batches]


def counts(world: ShareWorld) -> DeadLetterCounts:
    return world.services.share_partitions.dead_letters.counts["g"]


async def rejecting(world: ShareWorld, *values: bytes) -> ShareMember:
    """A member that was delivered these values, and rejects them."""
    world.append("t", *(values or (b"a", b"b")))
    member = world.member()
    (each,) = await member.acquire()
    assert (await member.acknowledge((each[0], each[1], [REJECT]))).responses[0].partitions[0].error_code == 0
    await settle()
    return member


async def test_rejected_records_are_written_and_then_archived() -> None:
    world = world_with_queue()
    world.clock.advance(5000)
    member = await rejecting(world)
    assert letters_in(world) == [Letter(0, 1, REJECTED), Letter(1, 1, REJECTED)]
    assert stored_states(world) == [(0, 1, ARCHIVING), (0, 1, ARCHIVED)]
    assert [update.delivery_complete_count for update in world.persister.updates] == [0, 2]
    assert counts(world) == DeadLetterCounts(records=2, requests=1)
    world.append("t", b"c")
    assert await member.acquire() == [(2, 2, 1)]


@pytest.mark.parametrize("how", ["release", "lock", "lock that ends now", "close"])
async def test_records_that_are_not_processed_after_the_last_delivery_are_written(how: str) -> None:
    world = world_with_queue()
    world.configure("share.delivery.count.limit", "2")
    world.append("t", b"a")
    for count in (1, 2):
        member = world.member(f"m{count}")
        assert await member.acquire() == [(0, 0, count)]
        if how == "release":
            await member.acknowledge((0, 0, [RELEASE]))
        elif how == "lock":
            await world.advance(30_000)
        elif how == "lock that ends now":
            (led,) = world.services.share_partitions.every_led()
            assert (led.end_locks("another"), led.end_locks(f"m{count}")) == (0, 1)
        else:
            await member.acknowledge(epoch=-1)
        await settle()
    assert letters_in(world) == [Letter(0, 2, WORN_OUT)]
    assert stored_states(world) == [(0, 0, 0), (0, 0, ARCHIVING), (0, 0, ARCHIVED)]


async def test_only_what_is_rejected_is_written() -> None:
    world = world_with_queue()
    world.append("t", b"a", b"b", b"c", b"d")
    member = world.member()
    await member.fetch()
    await member.acknowledge((0, 3, [ACCEPT, 0, REJECT, RELEASE]))
    await settle()
    assert letters_in(world) == [Letter(2, 1, REJECTED)]


@pytest.mark.parametrize(("level", "name"), [(1, QUEUE), (2, "")])
async def test_without_a_queue_rejected_records_are_archived_at_once(level: int, name: str) -> None:
    world = world_with_queue(level=level)
    world.configure("errors.deadletterqueue.topic.name", name)
    await rejecting(world)
    assert stored_states(world) == [(0, 1, ARCHIVED)]
    assert letters_in(world) == []
    assert world.services.share_partitions.dead_letters.counts == {}


async def test_keys_and_values_are_copied_where_the_group_has_that_set() -> None:
    world = world_with_queue()
    world.configure("errors.deadletterqueue.copy.record.enable", "true")
    plain = [NewRecord(b"k", b"plain", [("h", b"1")], 7), NewRecord(None, None, (), 7)]
    world.services.partitions.append("t", 0, build_batch(plain))
    world.services.partitions.append("t", 0, build_batch([NewRecord(b"k", b"zipped", (), 7)], compression=GZIP))
    large = [NewRecord(b"k", bytes(2 << 20), (), 7)]
    world.services.partitions.append("t", 0, build_batch(large, compression=GZIP))
    member = world.member()
    assert await member.acquire() == [(0, 3, 1)]
    await member.acknowledge((0, 3, [REJECT]))
    await world.settle()
    assert [(each.offset, each.value) for each in letters_in(world)] == [
        (0, b"plain"),
        (1, None),
        (2, b"zipped"),
        (3, None),
    ]


async def test_records_that_are_gone_are_written_without_their_contents() -> None:
    world = world_with_queue()
    world.configure("errors.deadletterqueue.copy.record.enable", "true")
    world.append("t", b"a")
    world.append("t", b"b")
    member = world.member()
    await member.fetch()
    world.services.partitions.delete_records_before("t", 0, 1)
    await member.acknowledge((0, 1, [REJECT]))
    await settle()
    assert [each.value for each in letters_in(world)] == [None, None]


class WithoutLeader:
    """Partitions that cannot be read so many times."""

    def __init__(self, partitions: Partitions, refusals: int, code: ErrorCode) -> None:
        self._partitions = partitions
        self._refusals = refusals
        self._code = code

    def __getattr__(self, name: str) -> Any:
        return getattr(self._partitions, name)

    def get(self, topic: str, partition: int) -> PartitionLog:
        self._refusals -= 1
        if self._refusals >= 0:
            raise KafkaError(self._code)
        return self._partitions.get(topic, partition)


@pytest.mark.parametrize("code", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE])
@pytest.mark.parametrize(("refusals", "copies"), [(7, [b"a", b"b"]), (8, [None, None])])
async def test_records_are_copied_once_their_partition_has_a_leader(
    code: ErrorCode, refusals: int, copies: list[bytes | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_with_queue()
    world.configure("errors.deadletterqueue.copy.record.enable", "true")
    world.append("t", b"a", b"b")
    member = world.member()
    await member.fetch()
    partitions = WithoutLeader(world.services.partitions, refusals, code)
    monkeypatch.setattr(world.services.share_partitions.dead_letters, "_partitions", partitions)
    await member.acknowledge((0, 1, [REJECT]))
    for count in range(7):
        assert letters_in(world) == []
        await world.advance(100 << count)
    assert [each.value for each in letters_in(world)] == copies


def set_for_topic(world: ShareWorld, key: str, value: str) -> None:
    world.services.catalogue.alter_configs(TOPIC_RESOURCE, QUEUE, [Alteration(key, AlterConfigOp.SET, value)])


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("errors.deadletterqueue.group.enable", "false", "errors.deadletterqueue.group.enable is not set"),
        ("max.message.bytes", "150", "a batch of 236 bytes, the topic accepts 150"),
        ("cleanup.policy", "compact", "key"),
    ],
)
async def test_what_the_topic_does_not_take_is_lost_and_said(
    key: str, value: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = world_with_queue()
    set_for_topic(world, key, value)
    await rejecting(world)
    assert letters_in(world) == []
    assert stored_states(world)[-1] == (0, 1, ARCHIVED)
    assert counts(world).lost == 2
    assert f"dead letters lost group=g topic=t partition=0 records=2 dead_letter_topic={QUEUE}" in caplog.text
    assert reason in caplog.text
    await rejecting(world)
    assert caplog.text.count("dead letters lost") == 1
    assert counts(world).lost == 4


@pytest.mark.parametrize("name", ["other", "dlq.bad name", ".."])
async def test_a_name_that_cannot_be_loses_all(name: str) -> None:
    world = world_with_queue(settings={"errors.deadletterqueue.auto.create.topics.enable": "true"})
    world.configure("errors.deadletterqueue.topic.name", name)
    await rejecting(world)
    assert counts(world) == DeadLetterCounts(lost=2)
    assert stored_states(world)[-1] == (0, 1, ARCHIVED)


async def test_a_missing_topic_is_created_where_the_broker_allows_it() -> None:
    world = world_with_queue(settings={"num.partitions": "3"}, partitions=5)
    world.configure("errors.deadletterqueue.topic.name", "dlq.new")
    await rejecting(world)
    assert "dlq.new" not in world.services.catalogue.topics
    allowed = Alteration("errors.deadletterqueue.auto.create.topics.enable", AlterConfigOp.SET, "true")
    world.services.catalogue.alter_configs(BROKER_RESOURCE, "", [allowed])
    world.append("t", b"a", partition=4)
    member = world.member("other")
    assert await member.acquire(4) == [(0, 0, 1)]
    await member.acknowledge((0, 0, [REJECT]), partition=4)
    await settle()
    created = world.services.catalogue.topics["dlq.new"]
    assert len(created.partitions) == 3
    assert created.configs == {"errors.deadletterqueue.group.enable": "true", "message.timestamp.type": "CreateTime"}
    assert letters_in(world, 1, "dlq.new") == [Letter(0, 1, REJECTED)]


async def test_an_acknowledgement_is_answered_before_its_dead_letters_are_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = world_with_queue()
    writing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(world.services.share_partitions.dead_letters, "write", lambda key, letters: writing)
    member = await rejecting(world)
    assert stored_states(world) == [(0, 1, ARCHIVING)]
    assert await member.acquire() == []
    assert (await member.acknowledge((0, 1, [ACCEPT]))).responses[0].partitions[0].error_code == 121
    writing.set_result(None)
    await settle()
    assert stored_states(world)[1:] == [(0, 1, ARCHIVED)]


@pytest.mark.parametrize(("limit", "message"), [("5", REJECTED), ("2", WORN_OUT)])
async def test_a_kill_before_the_dead_letters_are_written_delays_them(
    limit: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_with_queue()
    world.configure("share.delivery.count.limit", limit)
    world.append("t", b"a")
    member = world.member()
    await member.acquire()
    await member.acknowledge((0, 0, [RELEASE]))
    assert await member.acquire() == [(0, 0, 2)]
    killed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(world.services.share_partitions.dead_letters, "write", lambda key, letters: killed)
    await member.acknowledge((0, 0, [REJECT if message == REJECTED else RELEASE]))
    world.abandon()
    again = ShareWorld(after=world)
    assert letters_in(again) == []
    assert await again.member().acquire() == []
    await settle()
    assert letters_in(again) == [Letter(0, 2, message)]
    assert stored_states(again)[-2:] == [(0, 0, ARCHIVING), (0, 0, ARCHIVED)]


async def test_a_kill_before_the_records_are_archived_writes_them_again() -> None:
    world = world_with_queue()
    world.append("t", b"a")
    member = world.member()
    await member.acquire()
    world.persister.held = []
    member.peer.ask(member.request(0, acks=((0, 0, [REJECT]),)))
    await settle()
    (first,), world.persister.held = world.persister.held, []
    first.set_result(None)
    await settle()
    key = SharePartitionKey("g", world.topic_id, 0)
    archiving = world.persister.states[key][0]._replace(delivery_state=ARCHIVING)
    world.persister.states[key][0] = archiving  # the second write does not reach the disk
    world.abandon()
    world.persister.held = None
    again = ShareWorld(after=world)
    await again.member().fetch()
    await settle()
    assert letters_in(again) == [Letter(0, 1, REJECTED)] * 2


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.FENCED_STATE_EPOCH])
async def test_a_write_that_fails_leaves_records_without_dead_letters(code: ErrorCode) -> None:
    world = world_with_queue()
    world.append("t", b"a")
    member = world.member()
    await member.acquire()
    world.persister.failure = KafkaError(code)
    await member.acknowledge((0, 0, [REJECT]))
    await settle()
    assert letters_in(world) == []


async def test_a_lock_that_ends_while_states_cannot_be_stored_has_its_dead_letters() -> None:
    world = world_with_queue()
    world.configure("share.delivery.count.limit", "2")
    world.append("t", b"a")
    for _ in range(2):
        await world.member().acquire()
        world.persister.failure = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        await world.advance(30_000)
    await settle()
    assert letters_in(world) == [Letter(0, 2, WORN_OUT)]


@pytest.mark.pure
@pytest.mark.parametrize(("refusals", "is_written"), [(4, True), (5, False)])
async def test_an_append_that_may_succeed_later_is_tried_again(
    refusals: int, is_written: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_with_queue()
    real = world.services.partitions.get_led
    refused: list[str] = []

    def get_led(topic: str, partition: int) -> Any:
        if topic == QUEUE and len(refused) < refusals:
            refused.append(topic)
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return real(topic, partition)

    monkeypatch.setattr(world.services.partitions, "get_led", get_led)
    await rejecting(world)
    for pause_s in (1, 2, 4, 8):
        assert letters_in(world) == []
        await world.advance(pause_s * 1000)
    monkeypatch.undo()
    assert len(letters_in(world)) == (2 if is_written else 0)
    lost = 0 if is_written else 2
    assert counts(world) == DeadLetterCounts(2 - lost, lost, requests=5, failed_requests=refusals)
    assert stored_states(world)[-1] == (0, 1, ARCHIVED)


@pytest.mark.parametrize(
    ("key", "value"),
    [("compression.type", "gzip"), ("flush.messages", "1"), ("message.timestamp.type", "LogAppendTime")],
)
async def test_dead_letters_are_written_as_the_topic_wants_them(key: str, value: str) -> None:
    world = world_with_queue()
    set_for_topic(world, key, value)
    world.configure("errors.deadletterqueue.copy.record.enable", "true")
    values = [bytes([number]) * 1000 for number in range(50)]
    await rejecting(world, *values)
    await until(lambda: letters_in(world))
    await settle()
    assert [each.value for each in letters_in(world)] == values
    assert stored_states(world)[-1] == (0, 49, ARCHIVED)


async def test_many_dead_letters_are_written_in_pieces_and_all_are_archived() -> None:
    world = world_with_queue()
    world.append("t", *[b"v"] * 1000)
    member = world.member()
    await member.acquire()
    await member.acknowledge((0, 999, [REJECT, ACCEPT] * 500))
    await world.settle()
    assert sorted(each.offset for each in letters_in(world)) == list(range(0, 1000, 2))
    stored = await world.persister.read(SharePartitionKey("g", world.topic_id, 0), 0)
    assert {each.delivery_state for each in stored.batches} <= {2, ARCHIVED}
    assert stored.start_offset != NOT_STARTED
    assert await member.acquire() == []
    world.append("t", b"w")
    assert await member.acquire() == [(1000, 1000, 1)]


@pytest.mark.parametrize("is_used_again", [False, True])
async def test_dead_letters_are_written_although_the_last_member_has_left(is_used_again: bool) -> None:
    world = world_with_queue()
    world.configure("share.delivery.count.limit", "2")
    world.append("t", b"a")
    for count in (1, 2):
        member = world.member()
        assert await member.acquire() == [(0, 0, count)]
        if count == 2:
            world.persister.held = []
        member.peer.transport.close()
        await settle()
    if is_used_again:
        assert await world.member().acquire() == []
    world.persister.let_go()
    await settle()
    assert letters_in(world) == [Letter(0, 2, WORN_OUT)]
    assert stored_states(world)[-1] == (0, 0, ARCHIVED)
    assert len(world.services.share_partitions.every_led()) == is_used_again


async def test_dead_letters_are_written_whichever_node_leads_their_partition() -> None:
    world = BrokerWorld(nodes=2, topics={"t": 2})
    catalogue = world.services.catalogue
    catalogue.create_topic(QUEUE, 2, {"errors.deadletterqueue.group.enable": "true"})
    chosen = Alteration("errors.deadletterqueue.topic.name", AlterConfigOp.SET, QUEUE)
    catalogue.alter_configs(GROUP_RESOURCE, "g", [chosen])
    assert world.broker.shared_storage is not None
    nodes = world.broker.shared_storage.of_node
    assert {nodes[1].cluster.placement_of(QUEUE, partition).leader for partition in range(2)} == {1, 2}
    queue = nodes[1].share_partitions.dead_letters
    for partition in range(2):
        key = SharePartitionKey("g", catalogue.topics["t"].topic_id, partition)
        queue.write(key, [DeadLetter(0, 2, 1, DeadLetterCause.REJECTED)])
    assert queue.counts == {"g": DeadLetterCounts(records=6, requests=2)}
