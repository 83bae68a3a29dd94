"""A broker's memory for each partition, producer and transaction: the last part of `bench --growth`.

In one process, without sockets. Memory is counted as Python allocates it (tracemalloc), so it does not depend on
other processes; descriptors are those that the process has open.
"""

import gc
import os
import tempfile
import tracemalloc
from collections.abc import Awaitable, Callable

import uvloop

from barnabas.broker.coordinator.transaction.decisions.model import InitReply, InitRequest
from barnabas.broker.coordinator.transaction.decisions.states import TransactionState
from barnabas.protocol.messages.end_txn import EndTxnRequest
from bench.in_process.micro import MEMORY_FILES, Bench, batch, produce
from tests.support.worlds.broker import request_frame

PARTITIONS, OPEN_PARTITIONS, PRODUCERS, TRANSACTIONS = 10_000, 2_000, 20_000, 5_000
VALUE_BYTES = 100
TRANSACTIONAL_VERSION, END_VERSION = 12, 5


class _Memory:
    """The memory that was allocated since the last look."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._held = 0
        self._look()

    def _look(self) -> int:
        gc.collect()
        before, self._held = self._held, tracemalloc.get_traced_memory()[0]
        return self._held - before

    async def of(self, what: str, count: int, make: Callable[[], Awaitable[None]]) -> None:
        """Print the memory that the broker uses after `make`, for each of `count`."""
        self._look()
        await make()
        for _ in range(100):
            await self._bench.turn()  # until all pending work has ended
        print(f"{self._look() / count:8.0f} B for each {what} ({count:,} of them)", flush=True)


async def _measure(path: str) -> None:
    bench = Bench(path)
    coordinator = bench.broker.services.transactions
    writers: list[tuple[int, int]] = []
    names: list[str] = []

    async def know_partitions() -> None:
        for _ in range(PARTITIONS // 100):
            names.append(bench.unopened_topic(100))

    async def open_partitions() -> None:
        for name in names[: OPEN_PARTITIONS // 100]:
            for partition in range(100):
                bench.broker.services.partitions.get_led(name, partition)
            bench.send(produce(name, batch(1, VALUE_BYTES), 100))

    async def know_producers() -> None:
        for number in range(PRODUCERS):
            bench.send(produce(names[0], batch(1, VALUE_BYTES, (1_000_000 + number, 0, 0))))

    async def know_ids() -> None:
        for number in range(TRANSACTIONS):
            begun = coordinator.init_producer_id(InitRequest(f"transactional-id-{number}", 60_000))
            reply = begun if isinstance(begun, InitReply) else await begun
            writers.append((reply.producer_id, reply.producer_epoch))

    async def open_transactions() -> None:
        for number, (producer_id, epoch) in enumerate(writers):
            data = batch(1, VALUE_BYTES, (producer_id, epoch, 0), transactional=True)
            name = f"transactional-id-{number}"
            bench.send(produce(names[1], data, transactional_id=name, version=TRANSACTIONAL_VERSION))
            while bench.connection.is_parked:
                await bench.turn()

    async def end_transactions() -> None:
        for number, (producer_id, epoch) in enumerate(writers):
            name = f"transactional-id-{number}"
            end = EndTxnRequest(transactional_id=name, producer_id=producer_id, producer_epoch=epoch, committed=True)
            bench.send(request_frame(end, END_VERSION))
            while bench.state_of(name) is not TransactionState.COMPLETE_COMMIT:
                assert bench.state_of(name) is not TransactionState.ONGOING or bench.connection.is_parked, "refused"
                await bench.turn()

    memory = _Memory(bench)
    descriptors = len(os.listdir("/proc/self/fd"))
    await memory.of("partition that is there", PARTITIONS, know_partitions)
    await memory.of("partition that is written to, besides", OPEN_PARTITIONS, open_partitions)
    print(f"{len(os.listdir('/proc/self/fd')) - descriptors:8} descriptors more for {OPEN_PARTITIONS:,} of them")
    await memory.of("producer of a partition", PRODUCERS, know_producers)
    await memory.of("transactional id", TRANSACTIONS, know_ids)
    await memory.of("open transaction on a partition, besides", TRANSACTIONS, open_transactions)
    await memory.of("transaction that has ended, besides its id", TRANSACTIONS, end_transactions)
    await bench.broker.stop()


def main() -> None:
    """Print a line for each."""
    parent = str(MEMORY_FILES) if MEMORY_FILES.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="barnabas-held-", dir=parent) as path:
        tracemalloc.start()
        try:
            uvloop.run(_measure(path))
        finally:
            tracemalloc.stop()


if __name__ == "__main__":
    main()
