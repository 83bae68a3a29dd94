"""Processor time per request inside one process: `scripts/bench --micro`.

A real broker on real files (in memory if the system supports it), fed through its connections; only the
socket is missing. It prints microseconds of processor time, the median of several rounds: made to compare two
versions of the code on a machine that also does other work. The kernel's socket calls are not included;
copying a request into the receive buffer is, as the kernel would have to do that too.
"""

import asyncio
import itertools
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import uvloop

from barnabas.broker.api.dispatch import Dispatcher
from barnabas.broker.config import BrokerConfig
from barnabas.broker.config.listeners.listeners import Listener
from barnabas.broker.coordinator.transaction.decisions.model import InitReply, InitRequest
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.network.bound_sockets import BoundAddress
from barnabas.broker.network.connection import Connection
from barnabas.broker.runtime.clock import Stopwatch, monotonic
from barnabas.broker.server.broker import Broker
from barnabas.broker.server.data_directories import open_directory
from barnabas.broker.server.environment import Environment
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.records.builder import NewRecord, build_batch
from barnabas.protocol.registry import ApiKey, response_codec
from barnabas.protocol.security.listener_protocols import PLAINTEXT
from bench.in_process import group_micro
from tests.support.worlds.broker import request_frame

PRODUCE_VERSION, FETCH_VERSION, METADATA_VERSION, COMMIT_VERSION = 9, 12, 12, 9
MEMORY_FILES = Path("/dev/shm")
RESPONSE_BODY = 4 + 4 + 1  # after the size, the correlation id and an empty section of tags
ROUNDS = 9


class Sink:
    """A transport whose peer reads at once and discards the data."""

    def __init__(self, connection: Connection) -> None:
        self.last: list[bytes | bytearray] = []
        self.connection = connection
        connection.connection_made(cast("asyncio.Transport", self))

    def get_extra_info(self, name: str) -> tuple[str, int] | None:
        return ("127.0.0.1", 50_000) if name in ("peername", "sockname") else None

    def set_write_buffer_limits(self, high: int) -> None:
        """Ignore the limits: writing never blocks."""

    def pause_reading(self) -> None:
        """Do nothing: the next request comes when it is given."""

    def resume_reading(self) -> None:
        """Do nothing: as above."""

    def write(self, data: bytearray) -> None:
        self.last = [data]

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        self.connection.connection_lost(None)


class Bench:
    """A broker and one connection to it."""

    def __init__(
        self, path: str, settings: Mapping[str, str] = MappingProxyType({}), stopwatch: Stopwatch = monotonic
    ) -> None:
        """Create the broker. settings: the broker's, beside its directory."""
        loop, environment = asyncio.get_running_loop(), Environment(stopwatch=stopwatch)
        config = BrokerConfig({**settings, "log.dirs": path})
        directory = open_directory(config, environment.files, environment.random, 1000)
        address = Listener(PLAINTEXT, "127.0.0.1", 9092, PLAINTEXT)
        bound = BoundAddress(address, address, [])
        self.broker = Broker(config, directory, environment, loop, [bound])
        self.dispatcher = Dispatcher(self.broker.services)
        self.connection = self.connect().connection
        self._topics = map("micro-{}".format, itertools.count())

    def connect(self) -> Sink:
        return Sink(Connection(self.broker.listener, self.dispatcher))

    def topic(self, partitions: int = 1) -> str:
        """Create a topic that is ready for writes: the first request to many partitions waits for turns of the loop."""
        name = self.unopened_topic(partitions)
        for partition in range(partitions):
            self.broker.services.partitions.get_led(name, partition)
        return name

    def unopened_topic(self, partitions: int) -> str:
        """Create a topic that was never used."""
        name = next(self._topics)
        self.broker.catalogue.create_topic(name, partitions)
        return name

    def state_of(self, transactional_id: str) -> TransactionState:
        txn = self.broker.services.transactions.describe(transactional_id)
        assert txn is not None
        return txn.state

    def turn(self) -> asyncio.Future[None]:
        """Return a future that is done after one turn of the loop."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        loop.call_soon(turn.set_result, None)
        return turn

    def send(self, data: bytes, connection: Connection | None = None) -> None:
        """Pass `data` to the connection, in as many pieces as the receive buffer needs."""
        connection = connection or self.connection
        left = memoryview(data)
        while left:
            buffer = connection.get_buffer(-1)
            size = min(len(buffer), len(left))
            buffer[:size] = left[:size]
            connection.buffer_updated(size)
            left = left[size:]


def batch(
    records: int, value_bytes: int, producer: tuple[int, int, int] = (-1, -1, -1), *, transactional: bool = False
) -> bytes:
    now_ms = time.time_ns() // 1_000_000
    producer_id, producer_epoch, base_sequence = producer
    return bytes(
        build_batch(
            [NewRecord(None, b"x" * value_bytes, (), now_ms)] * records,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            transactional=transactional,
        )
    )


def produce(
    topic: str, data: bytes, partitions: int = 1, *, transactional_id: str | None = None, version: int = PRODUCE_VERSION
) -> bytes:
    parts = [PartitionProduceData(index=index, records=memoryview(data)) for index in range(partitions)]
    request = ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name=topic, partition_data=parts)],
    )
    return request_frame(request, version)


def fetch(
    topic: str,
    offsets: Sequence[int],
    *,
    max_bytes: int = 1 << 20,
    max_wait_ms: int = 0,
    session: tuple[int, int] = (0, -1),
) -> bytes:
    """Return a Fetch of partition 0 and the following ones, each from its offset; `session` is (id, epoch)."""
    partitions = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes)
        for index, offset in enumerate(offsets)
    ]
    request = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(topic=topic, partitions=partitions)],
    )
    return request_frame(request, FETCH_VERSION)


# --- the cases: each gives a function that prepares `count` requests; awaiting its result runs them -------------------

Prepare = Callable[[int], Awaitable[None]]


async def send_all(bench: Bench, frames: Iterable[bytes]) -> None:
    for frame in frames:
        bench.send(frame)


def sent(bench: Bench, frame: bytes) -> Prepare:
    """Send the same frame again and again."""
    return lambda count: send_all(bench, itertools.repeat(frame, count))


def produce_plain(bench: Bench) -> Prepare:
    return sent(bench, produce(bench.topic(), batch(1, 100)))


def produce_twelve(bench: Bench) -> Prepare:
    return sent(bench, produce(bench.topic(12), batch(1, 100), 12))


def produce_16k(bench: Bench) -> Prepare:
    return sent(bench, produce(bench.topic(), batch(16, 1000)))


def produce_1m(bench: Bench) -> Prepare:
    return sent(bench, produce(bench.topic(), batch(1000, 1000)))


def produce_pipelined(bench: Bench) -> Prepare:
    """Send 32 requests in one read."""
    frames = produce(bench.topic(), batch(1, 100)) * 32
    return lambda count: send_all(bench, itertools.repeat(frames, count // 32))


def produce_idempotent(bench: Bench) -> Prepare:
    topic, sequences = bench.topic(), itertools.count()

    def frame() -> bytes:
        return produce(topic, batch(1, 100, (7, 0, next(sequences))))

    return lambda count: send_all(bench, [frame() for _ in range(count)])


def transaction(*, is_new_protocol: bool, partitions: int = 1) -> Callable[[Bench], Prepare]:
    """Run a whole transaction of one record to each partition, and its commit."""

    def make(bench: Bench) -> Prepare:
        topic = name = bench.topic(partitions)
        begun = bench.broker.services.transactions.init_producer_id(InitRequest(name, 60_000))
        assert isinstance(begun, InitReply)
        producer_id, numbers = begun.producer_id, itertools.count()
        add = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=list(range(partitions)))],
        )
        first = b"" if is_new_protocol else request_frame(add, 3)

        def frames() -> list[bytes]:
            number = next(numbers)
            epoch, sequence = (number, 0) if is_new_protocol else (0, number)
            data = batch(1, 100, (producer_id, epoch, sequence), transactional=True)
            end = EndTxnRequest(transactional_id=name, producer_id=producer_id, producer_epoch=epoch, committed=True)
            write = produce(topic, data, partitions, transactional_id=name, version=12 if is_new_protocol else 9)
            return [first, write, request_frame(end, 5 if is_new_protocol else 3)]

        async def run(transactions: list[list[bytes]]) -> None:
            for each in transactions:
                await send_all(bench, each)
                while bench.state_of(name) is not TransactionState.COMPLETE_COMMIT:
                    assert bench.state_of(name) is TransactionState.PREPARE_COMMIT, "a request was refused"
                    await bench.turn()

        return lambda count: run([frames() for _ in range(count)])

    return make


def fetch_of(value_bytes: int, records: int, batches: int, max_bytes: int) -> Callable[[Bench], Prepare]:
    def make(bench: Bench) -> Prepare:
        topic = bench.topic()
        for _ in range(batches):
            bench.send(produce(topic, batch(records, value_bytes)))
        return sent(bench, fetch(topic, [0], max_bytes=max_bytes))

    return make


def follow(partitions: int) -> Callable[[Bench], Prepare]:
    """Follow all partitions at their end: a long poll, a message to the first, the response."""

    def make(bench: Bench) -> Prepare:
        topic = bench.topic(partitions)
        message = produce(topic, batch(1, 100))
        bench.send(message)
        offsets = itertools.count(1)
        epochs = itertools.count(1)
        sink = bench.connect()
        reader = sink.connection
        bench.send(fetch(topic, [1] + [0] * (partitions - 1), session=(0, 0)), reader)
        session_id = response_codec(ApiKey.FETCH, FETCH_VERSION).decode(sink.last[0], RESPONSE_BODY)[0].session_id

        async def run(polls: list[bytes]) -> None:
            for poll in polls:
                bench.send(poll, reader)
                bench.send(message)
                while reader.is_parked:
                    await bench.turn()

        def poll() -> bytes:
            return fetch(topic, [next(offsets)], max_wait_ms=500, session=(session_id, next(epochs)))

        return lambda count: run([poll() for _ in range(count)])

    return make


def metadata(bench: Bench) -> Prepare:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=bench.topic())])
    return sent(bench, request_frame(request, METADATA_VERSION))


def offset_commit(bench: Bench) -> Prepare:
    partition = OffsetCommitRequestPartition(
        partition_index=0, committed_offset=1_000_000, committed_leader_epoch=-1, committed_metadata=""
    )
    topics = [OffsetCommitRequestTopic(name=bench.topic(), partitions=[partition])]
    return sent(bench, request_frame(OffsetCommitRequest(group_id="g", member_id="", topics=topics), COMMIT_VERSION))


class Case(NamedTuple):
    """A measured case, and the number of requests in one of its rounds."""

    name: str
    make: Callable[[Bench], Prepare]
    requests: int


CASES = (
    Case("Produce, 1 record of 100 B", produce_plain, 4000),
    Case("Produce, 1 record of 100 B, 32 in a read", produce_pipelined, 4000),
    Case("Produce, 1 record of 100 B, idempotent", produce_idempotent, 2000),
    Case("Produce, 12 partitions of 1 record of 100 B", produce_twelve, 500),
    Case("Produce, a batch of 16 KB", produce_16k, 500),
    Case("Produce, a batch of 1 MB", produce_1m, 16),
    Case("a transaction of 1 record, older protocol", transaction(is_new_protocol=False), 1000),
    Case("a transaction of 1 record, newer protocol", transaction(is_new_protocol=True), 1000),
    Case("a transaction over 300 partitions", transaction(is_new_protocol=False, partitions=300), 20),
    Case("Fetch, 16 KB", fetch_of(1000, 16, 1, 1 << 20), 2000),
    Case("Fetch, 1 MB of 64 batches", fetch_of(1000, 16, 128, 1 << 20), 100),
    Case("Produce and the Fetch that waits for it", follow(1), 1000),
    Case("the same, the Fetch of 12 partitions", follow(12), 200),
    Case("Metadata, 1 topic", metadata, 2000),
    Case("OffsetCommit, 1 partition", offset_commit, 2000),
)


def probe_us() -> float:
    """Return the time of a fixed piece of Python: it shows runs in which the machine was slow."""
    start = time.process_time_ns()
    total = 0
    for number in range(100_000):
        total += number & 3
    return (time.process_time_ns() - start) / 1000


async def measure(bench: Bench, case: Case) -> list[float]:
    """Return the microseconds per request, for each round."""
    prepare = case.make(bench)
    await prepare(case.requests)
    rounds = []
    for _ in range(ROUNDS):
        work = prepare(case.requests)
        start = time.process_time_ns()
        await work
        spent = time.process_time_ns() - start
        rounds.append(spent / 1000 / case.requests)
    return rounds


async def run_all(path: str, cases: Sequence[Case], only: str) -> dict[str, dict[str, float]]:
    bench = Bench(path)
    found: dict[str, dict[str, Any]] = {}
    print(f"{'100,000 turns of an empty loop':45} {statistics.median(probe_us() for _ in range(ROUNDS)):8.0f} us")
    for case in cases:
        if only in case.name:
            rounds = await measure(bench, case)
            found[case.name] = {"median_us": statistics.median(rounds), "min_us": min(rounds)}
            print(f"{case.name:45} {statistics.median(rounds):8.2f} us   (least {min(rounds):.2f})", flush=True)
    await bench.broker.stop()
    return found


def measured(cases: Sequence[Case], only: str = "") -> dict[str, dict[str, float]]:
    """Measure the cases whose name contains `only`; print and return microseconds of processor time per request."""
    parent = str(MEMORY_FILES) if MEMORY_FILES.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="barnabas-micro-", dir=parent) as path:
        return uvloop.run(run_all(path, cases, only))


def main(only: str = "") -> dict[str, dict[str, float]]:
    """Measure the cases whose name contains `only`, and groups if all are measured."""
    found = measured(CASES, only)
    if not only:
        group_micro.main()
    return found


if __name__ == "__main__":
    main()
