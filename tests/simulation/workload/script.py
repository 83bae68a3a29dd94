"""A script of transactions, one of each kind, for walks along every change of the disk.

Commit, abort, a second life over an open transaction, a timeout; with offsets, and records that come later.
"""

import asyncio

from tests.simulation.clients.errors import Fenced, Unusable
from tests.simulation.clients.producer import Producer
from tests.simulation.history.history import TopicPartition
from tests.simulation.workload.transactions import INPUT, live_again

_LATER_MS = 2_500  # when a timeout has been looked after, too


async def scripted(producer: Producer, at: list[TopicPartition], group: str, timeout_ms: int) -> None:
    """Every transaction of the script, the next one also where one was refused."""
    first, second, third = at
    await live_again(producer)
    await _transaction(producer, group, [first, second], offset=5, is_commit=True)
    await _transaction(producer, group, [second, third, second], offset=6, is_commit=False)
    await _transaction(producer, group, [first])
    await _transaction(producer, group, [third, first], offset=9, is_commit=True)
    await _transaction(producer, group, [second], after_ms=timeout_ms + _LATER_MS)
    await _transaction(producer, group, at, is_commit=True)


async def _transaction(
    producer: Producer,
    group: str,
    at: list[TopicPartition],
    *,
    offset: int | None = None,
    is_commit: bool | None = None,
    after_ms: int = 0,
) -> None:
    """One of them; is_commit: None leaves it open, and begins another life."""
    producer.begin()
    try:
        for each in at:
            await producer.send(each, 1)
        if offset is not None:
            await producer.send_offset(group, INPUT, offset)
        await asyncio.sleep(after_ms / 1000)
        if is_commit is not None:
            return await producer.end(commit=is_commit)
    except (Fenced, Unusable):
        pass  # the transaction ends here: another life begins
    await live_again(producer)
