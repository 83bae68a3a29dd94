"""The programs of admins and of those who read what they create."""

import asyncio
import random
from collections.abc import Callable

from tests.simulation.clients.admin import Admin
from tests.simulation.clients.errors import Fenced, Unusable
from tests.simulation.clients.producer import Producer
from tests.simulation.clients.topic_reader import TopicReader
from tests.simulation.history.history import Outcome
from tests.simulation.history.topics import TopicLife
from tests.simulation.workload.transactions import live_again

_CONFIGS = (
    ("retention.ms", ("100", "1500", "-1")),
    ("retention.bytes", ("200", "-1")),
    ("segment.ms", ("50", "1000", "604800000")),
    ("segment.index.bytes", ("100", "10485760")),
    ("index.interval.bytes", ("1", "4096")),
)
_PARTITIONS_MAX = 4
_STEPS_MAX = 10


async def administering(
    admin: Admin, producer: Producer, name: str, dice: random.Random, is_over: Callable[[], bool]
) -> None:
    """A topic that is created, written, changed and deleted, and so on; `producer` is transactional."""
    await live_again(producer)
    while not is_over():
        configs = {key: dice.choice(values) for key, values in _CONFIGS if dice.random() < 0.5}
        life = await admin.create(name, dice.randint(1, 2), configs)
        for _ in range(dice.randint(0, _STEPS_MAX)):
            if is_over():
                return
            await _step(admin, producer, life, dice)
            await asyncio.sleep(dice.choice([0.0, 0.05, 0.5]))
        if dice.random() < 0.3:
            await _delete_under_transaction(admin, producer, life, dice)
        else:
            await admin.delete(life)
        await asyncio.sleep(dice.choice([0.0, 0.0, 0.2]))


async def _step(admin: Admin, producer: Producer, life: TopicLife, dice: random.Random) -> None:
    count = life.counts[-1][1]
    partition = dice.randrange(count)
    kind = dice.choice(["write", "write", "write", "partitions", "records", "config"])
    if kind == "write":
        await _write(producer, life, partition, dice)
    elif kind == "partitions" and count < _PARTITIONS_MAX:
        await admin.add_partitions(life, dice.randint(count + 1, _PARTITIONS_MAX))
    elif kind == "records":
        await admin.delete_records(life, partition, dice.choice([-1, _written(producer, life, partition, dice)]))
    elif kind == "config":
        key, values = dice.choice(_CONFIGS)
        await admin.alter(life, key, dice.choice(values))


def _written(producer: Producer, life: TopicLife, partition: int, dice: random.Random) -> int:
    """An offset up to which there are records for certain."""
    at = life.full_name, partition
    offsets = [send.offset for send in producer.sends if send.at == at and send.outcome is Outcome.OK and send.offset]
    return dice.choice([0, *offsets])


async def _write(producer: Producer, life: TopicLife, partition: int, dice: random.Random) -> None:
    producer.begin()
    try:
        await producer.send((life.full_name, partition), dice.randint(1, 4))
        await producer.end(commit=dice.random() < 0.8)
    except (Fenced, Unusable):
        await live_again(producer)


async def _delete_under_transaction(admin: Admin, producer: Producer, life: TopicLife, dice: random.Random) -> None:
    """Its topic goes, and the transaction is ended all the same."""
    producer.begin()
    try:
        await producer.send((life.full_name, dice.randrange(life.counts[-1][1])), 1)
        await admin.delete(life)
        await producer.end(commit=dice.random() < 0.5)
    except (Fenced, Unusable):
        await live_again(producer)
        if life.deleting_us is None:
            await admin.delete(life)


async def following(reader: TopicReader, names: list[str], dice: random.Random, is_over: Callable[[], bool]) -> None:
    """Fetch after Fetch of whatever there is by these names."""
    while not is_over():
        await reader.follow(names)
        for _ in range(dice.randint(1, 4)):
            if not reader.is_idle:
                await reader.poll(wait_ms=dice.choice([0, 100]))
            await asyncio.sleep(dice.choice([0.01, 0.1]))
