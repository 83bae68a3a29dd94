"""The programs of producers and readers: what they do until they are told to finish."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence

from tests.simulation.clients.errors import Fenced, Unusable
from tests.simulation.clients.producer import Producer
from tests.simulation.clients.reader import Reader
from tests.simulation.history.history import TopicPartition
from tests.simulation.plans.plan import Plan
from tests.simulation.workload.habits import Gone, Habits

INPUT: TopicPartition = ("input", 0)  # the topic that groups commit offsets of


async def transactional(
    producer: Producer,
    plan: Plan,
    at: list[TopicPartition],
    group: str,
    dice: random.Random,
    habits: Habits,
    is_over: Callable[[], bool],
) -> None:
    """Transactions, one after the other, over several lives; the last one is ended, unless it leaves for good."""
    await live_again(producer)
    position = 0
    while not is_over():
        position += 1
        try:
            await _transaction(producer, plan, at, group, position, dice, habits)
        except Gone:
            return
        except (Fenced, Unusable) as error:
            await go_on(producer, error)
        await asyncio.sleep(dice.choice([0.0, 0.02, 0.3]))


async def go_on(producer: Producer, error: Fenced | Unusable) -> None:
    """Get over it; in a new life if need be."""
    try:
        if isinstance(error, Fenced):
            raise error
        await producer.recover(error)
    except Fenced:
        await live_again(producer)


async def live_again(producer: Producer) -> None:
    """A new life of a producer, as soon as it can have one."""
    producer.transaction = None
    while True:
        try:
            return await producer.init()
        except Fenced:
            await asyncio.sleep(0.05)


async def in_lives(
    producer: Producer,
    step: Callable[[], Awaitable[None]],
    pauses_s: Sequence[float],
    dice: random.Random,
    is_over: Callable[[], bool],
) -> None:
    """Step after step, with one of these pauses in between; in a new life after one that was refused."""
    await live_again(producer)
    while not is_over():
        try:
            await step()
        except (Fenced, Unusable):
            await live_again(producer)
        await asyncio.sleep(dice.choice(pauses_s))


async def _transaction(
    producer: Producer,
    plan: Plan,
    at: list[TopicPartition],
    group: str,
    position: int,
    dice: random.Random,
    habits: Habits,
) -> None:
    producer.begin()
    chosen = habits.begin(dice.sample(at, dice.randint(1, len(at))))
    await _all_of([producer.send(each, dice.randint(1, 3)) for each in chosen])
    if dice.random() < plan.offsets:
        await producer.send_offset(group, INPUT, position)
    if dice.random() < 0.2:
        await asyncio.sleep(dice.uniform(0, 1))
        await producer.send(dice.choice(at), 1)
    await habits.follow(producer, chosen)
    if dice.random() < plan.abandon:
        raise Fenced("left open")
    await producer.end(commit=dice.random() >= plan.abort)


async def _all_of(sends: list[object]) -> None:
    """All at the same time, to the end; then the first error of them, if there was one."""
    errors = await asyncio.gather(*sends, return_exceptions=True)  # type: ignore[call-overload]  # because each is a coroutine
    for error in errors:
        if error is not None:
            raise error


async def idempotent(
    producer: Producer,
    at: list[TopicPartition],
    dice: random.Random,
    is_over: Callable[[], bool],
    *,
    most: int = 5,
    pauses_s: Sequence[float] = (0.0, 0.02, 0.2),
) -> None:
    """Records without transactions."""
    await live_again(producer)
    while not is_over():
        try:
            await producer.send(dice.choice(at), dice.randint(1, most))
        except (Fenced, Unusable) as error:
            await go_on(producer, error)
        await asyncio.sleep(dice.choice(pauses_s))


async def reading(reader: Reader, dice: random.Random, is_over: Callable[[], bool]) -> None:
    """Fetch after Fetch."""
    while not is_over():
        await reader.poll(wait_ms=dice.choice([0, 100, 500]))
        await asyncio.sleep(dice.choice([0.0, 0.01, 0.1]))
