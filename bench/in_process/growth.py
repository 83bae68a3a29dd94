"""`scripts/bench --growth`: the cost of a request when the broker's contents have grown a hundredfold.

In one process and without sockets, as `--micro` does. For each thing that grows there are two brokers, with little of
it and with a hundred times as much, and the same requests are measured in both, round by round in turns. Flat is 1.
"""

import itertools
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import uvloop

from barnabas.broker.coordinator.transaction.decisions.model import InitReply, InitRequest
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.broker.metadata.catalogue.config_alterations import Alteration, AlterConfigOp
from barnabas.broker.metadata.image.image import TOPIC_RESOURCE
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from bench.in_process.micro import MEMORY_FILES, Bench, batch, produce
from tests.support.worlds.broker import request_frame

FETCH_VERSION, LIST_OFFSETS_VERSION, END_VERSION, PRODUCE_VERSION = 12, 7, 5, 12
READ_COMMITTED = 1
ROUNDS, REQUESTS = 9, 400
SEGMENT_BYTES = 1 << 20
BEGINNING = 3_000
FETCHED = 20
"""Records of 1 kB in a response; a few more exist than fit, so every response is full."""
TRANSACTIONS = 10_000
TRANSACTION_BYTES = 20_000
"""The size of a transaction's one record: one of them fills a response."""
AIM = 1.2

ABORT = TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT
COMMIT = TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT

Frames = Callable[[], bytes]
Filled = Callable[[Bench, int], Awaitable[dict[str, Frames]]]
"""Puts so much of something into a broker; returns the makers of the requests to measure, by their names."""


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _topic(bench: Bench) -> str:
    """Create a log that has a few segments already: a log with only the active one is another case."""
    name = bench.topic()
    setting = Alteration("segment.bytes", AlterConfigOp.SET, str(SEGMENT_BYTES))
    bench.broker.catalogue.alter_configs(TOPIC_RESOURCE, name, [setting])
    for _ in range(BEGINNING):
        bench.send(produce(name, batch(1, 1000)))
    return name


def _fetch(topic: str, offset: int, isolation_level: int = 0) -> bytes:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=16 << 10)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=16 << 10,
        isolation_level=isolation_level,
        topics=[FetchTopic(topic=topic, partitions=[partition])],
    )
    return request_frame(request, FETCH_VERSION)


def _look_up(topic: str, timestamp: int) -> bytes:
    partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    topics = [ListOffsetsTopic(name=topic, partitions=[partition])]
    return request_frame(ListOffsetsRequest(replica_id=-1, topics=topics), LIST_OFFSETS_VERSION)


def _requests(topic: str, length: int, begun_ms: int, isolation_level: int = 0, first: int = 0) -> dict[str, Frames]:
    """Produce; a Fetch of 16 KB from anywhere in the log, `length` behind its beginning; a look-up of any time.

    first: where the Fetches begin, so that all of them find the same in both brokers.
    """
    plain = produce(topic, batch(1, 1000))
    ended_ms = _now_ms()
    anywhere = random.Random(length)
    return {
        "Produce": lambda: plain,
        "Fetch from anywhere": lambda: _fetch(
            topic, anywhere.randrange(first, BEGINNING + length - FETCHED), isolation_level
        ),
        "ListOffsets by time": lambda: _look_up(topic, anywhere.randint(begun_ms, ended_ms)),
    }


async def _longer(bench: Bench, count: int) -> dict[str, Frames]:
    topic, begun_ms = _topic(bench), _now_ms()
    for _ in range(count):
        bench.send(produce(topic, batch(1, 1000)))
    return _requests(topic, count, begun_ms)


async def _more_partitions(bench: Bench, count: int) -> dict[str, Frames]:
    for _ in range(count // 10):
        bench.send(produce(bench.topic(10), batch(1, 1000), 10))
    return await _longer(bench, 1_000)


async def _more_producers(bench: Bench, count: int) -> dict[str, Frames]:
    topic, begun_ms = _topic(bench), _now_ms()
    for producer_id in range(count):
        bench.send(produce(topic, batch(1, 1000, (1_000_000 + producer_id, 0, 0))))
    numbers, anyone = itertools.count(1), random.Random(count)
    known = 1_000_000 + anyone.randrange(count)
    idempotent = {"Produce, idempotent": lambda: produce(topic, batch(1, 1000, (known, 0, next(numbers))))}
    return idempotent | _requests(topic, count, begun_ms)


async def _more_aborted(bench: Bench, count: int) -> dict[str, Frames]:
    """Abort so many of the transactions and commit the others: both logs are equally long, and read alike."""
    topic, begun_ms = _topic(bench), _now_ms()
    begun = bench.broker.services.transactions.init_producer_id(InitRequest("grows", 60_000))
    assert isinstance(begun, InitReply)
    for epoch in range(TRANSACTIONS):
        is_aborted = epoch % (TRANSACTIONS // count) == 0
        data = batch(1, TRANSACTION_BYTES, (begun.producer_id, epoch, 0), transactional=True)
        bench.send(produce(topic, data, transactional_id="grows", version=PRODUCE_VERSION))
        end = EndTxnRequest(
            transactional_id="grows", producer_id=begun.producer_id, producer_epoch=epoch, committed=not is_aborted
        )
        bench.send(request_frame(end, END_VERSION))
        begins, ends = ABORT if is_aborted else COMMIT
        while bench.state_of("grows") is not ends:
            assert bench.state_of("grows") is begins, "a request was refused"
            await bench.turn()
    return _requests(topic, 2 * TRANSACTIONS, begun_ms, READ_COMMITTED, first=BEGINNING)


class Grown(NamedTuple):
    """The thing that grows, and its initial number."""

    name: str
    fill: Filled
    little: int


GROWN = (
    Grown("batches in a log", _longer, 1_000),
    Grown("partitions", _more_partitions, 50),
    Grown("producers of a partition", _more_producers, 100),
    Grown("aborted transactions in a log", _more_aborted, 100),
)


async def _spent_us(bench: Bench, frame: Frames) -> float:
    frames = [frame() for _ in range(REQUESTS)]
    begun = time.process_time_ns()
    for each in frames:
        bench.send(each)
        while bench.connection.is_parked:
            await bench.turn()
    return (time.process_time_ns() - begun) / 1000 / REQUESTS


async def _measure(grown: Grown, path: Path) -> None:
    # By the processor's time: otherwise an interrupted turn seems over, and the loop spins until it may continue.
    benches = [Bench(str(path / name), stopwatch=time.thread_time) for name in ("little", "much")]
    both = [await grown.fill(bench, grown.little * factor) for bench, factor in zip(benches, (1, 100), strict=True)]
    for name in both[0]:
        spent: list[list[float]] = [[], []]
        for _ in range(ROUNDS):
            for which, bench in enumerate(benches):
                spent[which].append(await _spent_us(bench, both[which][name]))
        little, much = map(statistics.median, spent)
        flat = "" if much <= AIM * little else f"   not flat: the aim is {AIM}"
        print(f"{grown.name:32} {name:22} {little:8.2f} us {much:8.2f} us   {much / little:5.2f}{flat}", flush=True)
    for bench in benches:
        await bench.broker.stop()


def main() -> None:
    """Measure everything and print a line for each request."""
    parent = str(MEMORY_FILES) if MEMORY_FILES.is_dir() else None
    for grown in GROWN:
        with tempfile.TemporaryDirectory(prefix="barnabas-growth-", dir=parent) as path:
            uvloop.run(_measure(grown, Path(path)))


if __name__ == "__main__":
    main()
