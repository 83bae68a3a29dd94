"""First states of share partitions in memory, as the group coordinator has a `Persister` store them."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from barnabas.broker.partitions.share.persister import (
    UNKNOWN_COUNT,
    SharePartitionKey,
    ShareStateSummary,
    ShareStateUpdate,
    StoredShareState,
)
from barnabas.protocol.errors import KafkaError

T = TypeVar("T")


class BegunShareStates:
    """Answers each operation in the next turn of the loop; `refusal` is the answer to all while it is set."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.states: dict[SharePartitionKey, tuple[int, int]] = {}
        """(state epoch, start offset)"""
        self.refusal: KafkaError | None = None

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> asyncio.Future[None]:
        if self.refusal is None:
            self.states[key] = state_epoch, start_offset
        return self._answer(None)

    def read(self, key: SharePartitionKey, leader_epoch: int) -> asyncio.Future[StoredShareState]:
        return self._answer(StoredShareState(*self.states[key], ()))

    def write(self, key: SharePartitionKey, update: ShareStateUpdate) -> asyncio.Future[None]:
        if self.refusal is None:
            self.states[key] = update.state_epoch, update.start_offset
        return self._answer(None)

    def summarize(self, key: SharePartitionKey, leader_epoch: int) -> asyncio.Future[ShareStateSummary]:
        state_epoch, start_offset = self.states[key]
        return self._answer(ShareStateSummary(state_epoch, 0, start_offset, UNKNOWN_COUNT))

    def delete(self, key: SharePartitionKey) -> asyncio.Future[None]:
        if self.refusal is None:
            self.states.pop(key, None)
        return self._answer(None)

    def _answer(self, result: T) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self._loop.create_future()
        if self.refusal is not None:
            self._loop.call_soon(future.set_exception, self.refusal)
        else:
            self._loop.call_soon(future.set_result, result)
        return future
