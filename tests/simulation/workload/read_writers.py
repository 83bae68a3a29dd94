"""The program of clients that read and write in one transaction, the same partitions as everybody else."""

import random
from collections.abc import Callable
from functools import partial

from tests.simulation.clients.producer import Producer
from tests.simulation.clients.reader import Reader
from tests.simulation.history.history import TopicPartition
from tests.simulation.workload.transactions import in_lives

_STEPS_MAX = 4


async def read_writing(
    producer: Producer, reader: Reader, at: list[TopicPartition], dice: random.Random, is_over: Callable[[], bool]
) -> None:
    """Transactions of polls and sends, mixed."""
    await in_lives(producer, partial(_transaction, producer, reader, at, dice), (0.0, 0.02, 0.3), dice, is_over)


async def _transaction(producer: Producer, reader: Reader, at: list[TopicPartition], dice: random.Random) -> None:
    transaction = producer.begin()
    await producer.send(dice.choice(at), 1)
    for _ in range(dice.randrange(_STEPS_MAX)):
        if dice.random() < 0.5:
            await producer.send(dice.choice(at), 1)
        else:
            await reader.poll(wait_ms=dice.choice([0, 0, 50]))
            transaction.reads += reader.latest
    await producer.end(commit=dice.random() < 0.8)
