"""The programs of those who write to logs of which something goes, and of those who read them from end to end."""

import asyncio
import random
from collections.abc import Callable
from functools import partial

from tests.simulation.clients.producer import Producer
from tests.simulation.clients.reader import Reader
from tests.simulation.history.history import TopicPartition
from tests.simulation.workload.transactions import in_lives

_TOMBSTONES = 0.25
_ABORTS = 0.3
_LONG = 0.15  # how probable it is that a transaction is open for long


async def keeping(
    producer: Producer,
    at: TopicPartition,
    keys: list[bytes],
    dice: random.Random,
    is_over: Callable[[], bool],
    *,
    is_transactional: bool,
) -> None:
    """Writes to one log; under `keys`, that nobody else writes, and deletes them; or without, if there are none."""
    step = _transaction if is_transactional else _write
    await in_lives(producer, partial(step, producer, at, keys, dice), (0.0, 0.05, 0.3), dice, is_over)


async def _transaction(producer: Producer, at: TopicPartition, keys: list[bytes], dice: random.Random) -> None:
    producer.begin()
    await _write(producer, at, keys, dice)
    if dice.random() < _LONG:
        await asyncio.sleep(dice.uniform(0.5, 3))
        await _write(producer, at, keys, dice)
    await producer.end(commit=dice.random() >= _ABORTS)


async def _write(producer: Producer, at: TopicPartition, keys: list[bytes], dice: random.Random) -> None:
    count = dice.randint(1, 3)
    if not keys:
        await producer.send(at, count)
        return
    await producer.send_keyed(at, [(dice.choice(keys), dice.random() < _TOMBSTONES) for _ in range(count)])


async def scanning(
    new_reader: Callable[[bool], Reader], at: TopicPartition, dice: random.Random, is_over: Callable[[], bool]
) -> None:
    """The whole log, again and again, as a reader of each kind that begins at its start."""
    while not is_over():
        await new_reader(dice.random() < 0.7).scan(at)
        await asyncio.sleep(dice.uniform(0.05, 1))
