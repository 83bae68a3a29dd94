"""The short path of Produce and the general path give the same bytes, in answers and in logs, whatever comes."""

import asyncio
import errno
from typing import Any, NamedTuple, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.api.deferred_response import Answer
from barnabas.broker.api.frame_handler import RequestConnection
from barnabas.broker.api.handlers import produce
from barnabas.broker.api.produce_fetch import produce_fast_path
from barnabas.broker.api.produce_fetch.frame_handlers import produce_entry
from barnabas.broker.api.produce_fetch.produce_fast_path import SHORT_SINCE, ShortProduce
from barnabas.broker.api.stages.metering import Meter
from barnabas.broker.coordinator.transaction.decisions.model import (
    AddRequest,
    EndReply,
    EndRequest,
    InitReply,
    InitRequest,
)
from barnabas.broker.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from barnabas.broker.coordinator.transaction.verification import PRODUCE_ADDS_SINCE
from barnabas.broker.metadata.catalogue.config_alterations import Alteration
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.records.compression import GZIP, LZ4, NONE, SNAPPY
from barnabas.protocol.registry import ApiKey, request_codec, response_codec
from tests.support.worlds.answering import answered
from tests.support.worlds.broker import BrokerWorld

VERSIONS = range(SHORT_SINCE, ApiKey.PRODUCE.max_version + 1)
UNKNOWN_ID = b"unknown id here!"
SETTINGS = {"message.max.bytes": "9000"}
RESPONSE_HEADER_SIZE = 9


class Ask(NamedTuple):
    """One request, and what is done to its bytes."""

    version: int
    transactional_id: str | None
    acks: int
    topics: tuple[tuple[str, tuple[int, ...]], ...]
    producer: tuple[int, int, int]  # 0 stands for the transactional producer's id
    is_transactional: bool
    values: tuple[bytes, ...]
    compression: int
    records: str
    change: tuple[int, int] | None
    cut: int
    client_id: str


def asks() -> st.SearchStrategy[Ask]:
    """Mostly what the short path takes, or nearly so."""
    one = st.tuples(st.sampled_from(("t", "t", "t", "u", "missing", "", CONSUMER_OFFSETS_TOPIC)), st.just((0,)))
    mostly_one = st.one_of(
        st.tuples(one), st.tuples(st.tuples(st.just("t"), st.sampled_from(((1,), (0, 1), ())))), st.tuples(one, one)
    )
    return st.builds(
        Ask,
        st.sampled_from(VERSIONS),
        st.sampled_from((None, None, "tx", "", "y" * 130)),
        st.sampled_from((-1, -1, 1, 0, 2)),
        mostly_one,
        st.sampled_from(((-1, -1, -1), (0, 0, 0), (0, 0, 1), (0, 0, 2), (99, 0, 0), (99, 0, 1), (99, 1, 0))),
        st.booleans(),
        st.sampled_from(((b"v",), (b"v", b"w"), (b"x" * 100,), (b"x" * 5000,), (b"x" * 20_000,))),
        st.sampled_from((NONE, NONE, NONE, GZIP, SNAPPY, LZ4)),
        st.sampled_from(("batch", "batch", "batch", "batch", "null", "empty", "twice", "longer", "crc")),
        st.none() | st.tuples(st.integers(0, 300), st.integers(0, 255)),
        st.sampled_from((0, 0, 0, 0, 0, 1, 3, 40, -1)),
        st.sampled_from(("test", "test", "__admin_client")),
    )


class Peer:
    """What an entry sees of a connection."""

    client_host = "127.0.0.1"
    client_id_raw = b""
    session = None
    node = None

    def __init__(self, client_id: str) -> None:
        self.client_id = client_id


class Side:
    """A broker that is asked through one of the two paths."""

    def __init__(self, *, short: bool, settings: dict[str, str] | None = None, is_added: bool = False) -> None:
        """`is_added`: its client adds t-0 to the transaction of "tx" before anything else."""
        self.is_added = is_added
        self.world = BrokerWorld(SETTINGS | (settings or {}))
        self.meter = Meter(lambda: 0)
        self.short = short
        self.handed_on = 0
        self.entries: dict[int, Any] = {}
        catalogue = self.world.services.catalogue
        for topic in ("t", "u", CONSUMER_OFFSETS_TOPIC):
            catalogue.create_topic(topic, 2)
        self.producer_id = -1

    async def begin(self) -> None:
        transactions = self.world.services.transactions
        begun = transactions.init_producer_id(InitRequest("tx", 60_000))
        if not isinstance(begun, InitReply):
            begun = await begun
        self.producer_id = begun.producer_id
        if self.is_added:
            added = AddRequest("tx", self.producer_id, begun.producer_epoch, frozenset({("t", 0)}), 0)
            assert transactions.add_partitions(added) is ErrorCode.NONE

    def entry(self, version: int) -> Any:
        if version not in self.entries:
            services = self.world.services
            general = produce_entry(services, produce.handle, version, self.meter)

            def counted(frame: memoryview, position: int, correlation_id: int, client: RequestConnection) -> Answer:
                self.handed_on += 1
                return general(frame, position, correlation_id, client)

            entry = ShortProduce(services, counted, version, self.meter).serve if self.short else general
            self.entries[version] = entry
        return self.entries[version]

    def body(self, ask: Ask) -> bytes:
        """The request from the tags of its header on."""
        topics = self.world.services.catalogue.topics
        producer_id, epoch, sequence = ask.producer
        batch = bytes(
            build_batch(
                [NewRecord(None, value, (), self.world.clock.now_ms()) for value in ask.values],
                producer_id=producer_id or self.producer_id,
                producer_epoch=epoch,
                base_sequence=sequence,
                transactional=ask.is_transactional and producer_id >= 0,
                compression=ask.compression,
            )
        )
        broken = bytearray(batch)
        broken[17] ^= 1
        records = {
            "batch": batch,
            "null": None,
            "empty": b"",
            "twice": batch * 2,
            "longer": batch + b"more",
            "crc": broken,
        }[ask.records]
        request = ProduceRequest(
            transactional_id=ask.transactional_id,
            acks=ask.acks,
            timeout_ms=1000,
            topic_data=[
                TopicProduceData(
                    name=topic,
                    topic_id=topics[topic].topic_id if topic in topics else UNKNOWN_ID,
                    partition_data=[PartitionProduceData(index=index, records=records) for index in partitions],
                )
                for topic, partitions in ask.topics
            ],
        )
        body = bytearray(b"\0" + request_codec(ApiKey.PRODUCE, ask.version).encode(request))
        if ask.change is not None and ask.change[0] < len(body):
            body[ask.change[0]] = ask.change[1]
        if ask.cut < 0:
            return bytes(body) + b"behind"
        return bytes(body[: len(body) - ask.cut])

    async def answer(self, ask: Ask) -> object:
        """What it is answered, or why the connection is closed."""
        frame = memoryview(bytearray(b"head" + self.body(ask)))
        client = cast("RequestConnection", Peer(ask.client_id))
        return await answered(lambda: self.entry(ask.version)(frame, 4, 77, client))

    def kept(self) -> object:
        """All that is in the logs, and counted."""
        logs = {
            log.name: (log.read_own(log.log_start_offset, 1 << 20), log.last_stable_offset, log.producers.to_snapshot())
            for log in self.world.services.partitions.open_logs()
        }
        return logs, self.meter.errors


async def compare(asked: list[Ask], settings: dict[str, str] | None = None, *, is_added: bool = False) -> int:
    """How many of the requests the short path served itself."""
    sides = [Side(short=short, settings=settings, is_added=is_added) for short in (True, False)]
    try:
        for side in sides:
            await side.begin()
        for ask in asked:
            short, general = [await side.answer(ask) for side in sides]
            assert short == general, ask
        assert sides[0].kept() == sides[1].kept()
        return len(asked) - sides[0].handed_on
    finally:
        for side in sides:
            await side.world.close()


def _code(answer: object, version: int) -> int:
    """The error code of its first partition."""
    encoded = cast("bytes", answer)
    response: ProduceResponse = response_codec(ApiKey.PRODUCE, version).decode(encoded, RESPONSE_HEADER_SIZE)[0]
    return response.responses[0].partition_responses[0].error_code


PLAIN = Ask(9, None, -1, (("t", (0,)),), (-1, -1, -1), False, (b"v",), 0, "batch", None, 0, "test")
versions = pytest.mark.parametrize("version", VERSIONS)


@given(st.sampled_from(VERSIONS), st.lists(asks(), min_size=1, max_size=5), st.booleans())
def test_any_request_is_answered_and_kept_alike(version: int, asked: list[Ask], is_added: bool) -> None:
    """Twice each, so that the short path has seen how it begins."""
    twice = [ask._replace(version=version) for ask in asked for _ in range(2)]
    plain = PLAIN._replace(version=version)
    asyncio.run(compare([plain, *twice, plain], is_added=is_added))


@given(st.sampled_from(VERSIONS), st.integers(0, 130), st.integers(0, 255))
def test_one_byte_that_is_another_makes_no_difference(version: int, position: int, value: int) -> None:
    asked = PLAIN._replace(version=version)
    asyncio.run(compare([asked, asked, asked._replace(change=(position, value)), asked]))


@versions
async def test_common_produce_requests_take_the_fast_path(version: int) -> None:
    plain = PLAIN._replace(version=version)
    assert await compare([plain] * 4) == 3  # the first opens the log
    leader = plain._replace(acks=1)
    packed = leader._replace(values=(b"x" * 5000,), compression=LZ4, producer=(99, 0, 0))
    assert await compare([plain, leader, packed, packed._replace(producer=(99, 0, 1))]) == 2  # the producer is new once
    idempotent = [plain._replace(producer=(99, 0, sequence)) for sequence in range(5)]
    assert await compare(idempotent) == 4
    transactional = plain._replace(transactional_id="tx", is_transactional=True)
    adds = version >= 12  # else the partition would have to be added before
    sent = [transactional._replace(producer=(0, 0, sequence)) for sequence in range(5)]
    assert await compare(sent, {"transaction.partition.verification.enable": str(adds).lower()}) == 4


@versions
async def test_the_first_batch_of_a_transaction_is_served_on_the_short_path(version: int) -> None:
    """Of a known producer; on a partition that its client has added, or that is added by the batch."""
    adds = version >= PRODUCE_ADDS_SINCE
    transactional = PLAIN._replace(version=version, transactional_id="tx", is_transactional=True)
    later = transactional._replace(producer=(0, 1, 0) if adds else (0, 0, 1))
    sides = [Side(short=short, is_added=True) for short in (True, False)]
    for side in sides:
        await side.begin()
        transactions = side.world.services.transactions
        await side.answer(transactional._replace(producer=(0, 0, 0)))
        ended = transactions.end_transaction(EndRequest("tx", side.producer_id, 0, True, 2 if adds else 0))
        assert isinstance(ended, EndReply)
        assert ended.error is ErrorCode.NONE
        handed_on = side.handed_on
        if not adds:
            refused = ErrorCode.TRANSACTION_ABORTABLE if version == 11 else ErrorCode.INVALID_TXN_STATE
            assert _code(await side.answer(later), version) == refused, "it is in no transaction yet"
            added = AddRequest("tx", side.producer_id, 0, frozenset({("t", 0)}), 0)
            assert transactions.add_partitions(added) is ErrorCode.NONE
        assert _code(await side.answer(later), version) == ErrorCode.NONE
        assert side.handed_on == handed_on + (side.short and not adds), "the refused one alone"
        assert side.world.services.partitions.get_led("t", 0).has_open_transaction(side.producer_id, int(adds))
        txn = transactions.describe("tx")
        assert txn is not None
        assert txn.partitions == {("t", 0)}
    assert sides[0].kept() == sides[1].kept()


@pytest.mark.parametrize("version", [version for version in VERSIONS if version >= PRODUCE_ADDS_SINCE])
async def test_an_addition_that_waits_for_the_disk_is_not_made_on_the_short_path(version: int) -> None:
    transactional = PLAIN._replace(version=version, transactional_id="tx", is_transactional=True)
    side = Side(short=True)
    await side.begin()
    await side.answer(transactional._replace(producer=(0, 0, 0)))
    services = side.world.services
    ended = services.transactions.end_transaction(EndRequest("tx", side.producer_id, 0, True, 2))
    assert isinstance(ended, EndReply)
    services.catalogue.alter_configs(2, TRANSACTION_STATE_TOPIC, [Alteration("flush.messages", 0, "1")])
    side.world.files.calls.clear()
    handed_on = side.handed_on
    assert _code(await side.answer(transactional._replace(producer=(0, 1, 0))), version) == ErrorCode.NONE
    assert side.handed_on == handed_on + 1
    logs = [(call.name, call.path.split("/")[2]) for call in side.world.files.calls if call.path.endswith(".log")]
    state = next(name for _, name in logs if name.startswith(TRANSACTION_STATE_TOPIC))
    assert logs == [("pwrite", state), ("sync", state), ("pwrite", "t-0")]


@pytest.mark.pure
@versions
async def test_our_own_mistake_about_a_transaction_is_answered(
    version: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def mistaken(*args: object) -> object:
        raise ZeroDivisionError("nobody thought of this")

    side = Side(short=True)
    await side.begin()
    await side.answer(PLAIN._replace(version=version))
    transactional = PLAIN._replace(version=version, transactional_id="tx", is_transactional=True, producer=(0, 0, 0))
    with monkeypatch.context() as patch:
        for name in ("add_partitions", "verify_partitions"):
            patch.setattr(TransactionCoordinator, name, mistaken)
        assert _code(await side.answer(transactional), version) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert [record.exc_info is not None for record in caplog.records] == [True], "logged once"


@versions
async def test_requests_that_need_more_are_passed_to_the_full_path(version: int) -> None:
    plain = PLAIN._replace(version=version)
    learned = [plain, plain]  # the second on the short path
    for other in (
        plain._replace(acks=0),
        plain._replace(topics=(("t", (0, 1)),)),
        plain._replace(values=(b"x" * 10_000,)),
        plain._replace(is_transactional=True, producer=(99, 0, 0)),
        plain._replace(cut=1),
        plain._replace(cut=-1),
    ):
        assert await compare([*learned, other, other]) == 1, other
    assert await compare([*learned, plain], {"log.flush.interval.messages": "1"}) == 0


@versions
async def test_a_topic_that_was_made_again_is_another(version: int) -> None:
    """By name its new log is written to; by the old id there is nothing any more."""
    sides = [Side(short=short) for short in (True, False)]
    plain = PLAIN._replace(version=version)
    answers: list[list[object]] = [[], []]
    for side, answer in zip(sides, answers, strict=True):
        body = side.body(plain)
        side.body = lambda ask, body=body: body  # type: ignore[method-assign, misc]  # the same bytes, with the old id
        for _ in range(3):
            answer.append(await side.answer(plain))
        catalogue = side.world.services.catalogue
        catalogue.delete_topics(["t"])
        answer.append(await side.answer(plain))
        catalogue.create_topic("t", 2)
        side.world.services.partitions.get_led("t", 0)
        for _ in range(3):
            answer.append(await side.answer(plain))
        await side.world.close()
    assert answers[0] == answers[1]
    assert sides[0].handed_on == (5 if version >= 13 else 3)


async def test_a_disk_that_fails_is_answered_and_counted_alike() -> None:
    answers = []
    for short in (True, False):
        side = Side(short=short)
        for _ in range(3):
            await side.answer(PLAIN)
        side.world.files.fail("pwrite", errno.EIO, path="/t-0/", times=1)
        failed = cast("bytes", await side.answer(PLAIN))
        answers.append((failed, _code(failed, 9), await side.answer(PLAIN), dict(side.meter.errors)))
        await side.world.close()
    assert answers[0] == answers[1]
    assert answers[0][1] == ErrorCode.KAFKA_STORAGE_ERROR


async def test_cached_entries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(produce_fast_path, "TARGETS_MAX", 2)
    topics = [PLAIN._replace(topics=((topic, (index,)),)) for topic in ("t", "u") for index in range(2)]
    side = Side(short=True)
    for ask in topics * 3:
        assert await side.answer(ask) is not None
    assert len(side.entries[9].__self__._targets) <= 2
