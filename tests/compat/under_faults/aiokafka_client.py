"""What aiokafka does when a fault meets it: one scenario for each API. An outcome is what librdkafka.py says."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from tests.compat.under_faults.careful import Played, by_api

TIMEOUT_S = 30
_TRIES = 5
_SETTINGS: dict[str, Any] = {"request_timeout_ms": 2000, "retry_backoff_ms": 100}
_GIVEN = TopicPartition("given", 0)

Scenario = Callable[[str], Coroutine[Any, Any, str]]


async def produce(address: str) -> str:
    """An idempotent producer sends a record."""
    async with _closed(AIOKafkaProducer(bootstrap_servers=address, enable_idempotence=True, **_SETTINGS)) as producer:
        await producer.start()
        return await _called(lambda: producer.send_and_wait("t", b"x", partition=0), again=False)


async def fetch(address: str) -> str:
    """A consumer reads a partition."""
    async with _closed(_consumer(address, None)) as consumer:
        await consumer.start()
        consumer.assign([_GIVEN])
        return await _called(consumer.getone)


async def join_group(address: str) -> str:
    """A member of a group reads a topic."""
    async with _closed(_consumer(address, "joining")) as consumer:
        consumer.subscribe(["given"])
        return await _all_called(consumer.start, consumer.getone)


async def offset_commit(address: str) -> str:
    """A consumer commits an offset and waits for the answer."""
    async with _closed(_consumer(address, "committing")) as consumer:
        await consumer.start()
        consumer.assign([_GIVEN])
        return await _called(lambda: consumer.commit({_GIVEN: 1}))


async def init_producer_id(address: str) -> str:
    """A transactional producer begins."""
    async with _closed(_transactional(address)) as producer:
        return await _all_called(producer.start, producer.begin_transaction)


async def transaction(address: str) -> str:
    """A record and an offset are committed in a transaction. Of AddPartitionsToTxn, TxnOffsetCommit and EndTxn."""
    async with _closed(_transactional(address)) as producer:
        return await _transact(producer)


def aborted_and_made_anew(address: str) -> tuple[str, str]:
    """What an abort says after a transaction that failed, and how the same one goes with a new producer."""

    async def play() -> tuple[str, str]:
        async with _closed(_transactional(address)) as producer:
            assert await _transact(producer) == "KafkaError"
            aborted = await _called(producer.abort_transaction)
        return aborted, await transaction(address)

    return asyncio.run(play())


def _played(scenario: Scenario) -> Callable[[str], str]:
    return lambda address: asyncio.run(scenario(address))


SCENARIOS: dict[str, Played] = by_api(
    *map(_played, (produce, fetch, init_producer_id, transaction, join_group, offset_commit))
)


async def _transact(producer: AIOKafkaProducer) -> str:
    await producer.start()
    await producer.begin_transaction()
    return await _all_called(
        lambda: producer.send_and_wait("t", b"x", partition=0),
        lambda: producer.send_offsets_to_transaction({_GIVEN: 1}, "in-transactions"),
        producer.commit_transaction,
    )


def _transactional(address: str) -> AIOKafkaProducer:
    return AIOKafkaProducer(bootstrap_servers=address, transactional_id="tx", **_SETTINGS)


def _consumer(address: str, group: str | None) -> AIOKafkaConsumer:
    settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "heartbeat_interval_ms": 500}
    settings |= {"session_timeout_ms": 6000, "max_poll_interval_ms": 6000}
    return AIOKafkaConsumer(bootstrap_servers=address, group_id=group, **_SETTINGS, **settings)


@asynccontextmanager
async def _closed(client: Any) -> AsyncIterator[Any]:
    """Close it in the end; what a client that has failed says to that is no outcome."""
    try:
        yield client
    finally:
        with suppress(KafkaError):  # the broker may be gone
            await client.stop()


async def _all_called(*calls: Callable[[], Awaitable[Any]]) -> str:
    """One after the other, until one fails for good."""
    outcome = "goes on"
    for call in calls:
        told = await _called(call)
        if told != "goes on":
            outcome = told
        if told not in ("goes on", "tries again"):
            break
    return outcome


async def _called(call: Callable[[], Awaitable[Any]], *, again: bool = True) -> str:
    outcome = "goes on"
    for _ in range(_TRIES):
        try:
            await asyncio.wait_for(call(), TIMEOUT_S)
        except TimeoutError:
            return "waits for ever"
        except (KafkaError, AssertionError) as failed:  # it asserts that a call suits the transaction's state
            if not (again and getattr(failed, "retriable", False)):
                return type(failed).__name__
            outcome = "tries again"
        else:
            return outcome
    return "gives up"
