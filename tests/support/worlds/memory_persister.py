"""The states of share partitions in memory, in place of the share coordinator; writes can be held up, and can fail."""

from __future__ import annotations

import asyncio
from asyncio import Future
from typing import TypeVar

from barnabas.broker.partitions.share.persister import (
    NOT_STARTED,
    UNKNOWN_COUNT,
    Persister,
    SharePartitionKey,
    ShareStateSummary,
    ShareStateUpdate,
    StateBatch,
    StoredShareState,
)
from barnabas.protocol.errors import ErrorCode, KafkaError

T = TypeVar("T")


class MemoryPersister(Persister):
    """A persister without a log: states are begun by the first read unless `begins` is false."""

    def __init__(self) -> None:
        self.begins = True
        self.states: dict[SharePartitionKey, dict[int, StateBatch]] = {}
        self.start_offsets: dict[SharePartitionKey, int] = {}
        self.updates: list[ShareStateUpdate] = []
        self.held: list[Future[None]] | None = None
        """The writes and the beginnings of states that wait to be let go, if they are held up."""
        self.failure: KafkaError | None = None
        """The error of the next writes."""

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Future[None]:
        self._begin(key, start_offset)
        return self._stored()

    def _begin(self, key: SharePartitionKey, start_offset: int) -> None:
        self.states[key], self.start_offsets[key] = {}, start_offset

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Future[StoredShareState]:
        if key not in self.states:
            if not self.begins:
                return _failed(KafkaError(ErrorCode.INVALID_REQUEST))
            self._begin(key, NOT_STARTED)
        start = self.start_offsets[key]
        batches: list[StateBatch] = []
        for offset, each in sorted(self.states[key].items()):
            if offset < start:
                continue
            if batches and batches[-1].last_offset + 1 == offset and batches[-1][2:] == each[2:]:
                batches[-1] = batches[-1]._replace(last_offset=offset)
            else:
                batches.append(each)
        return _done(StoredShareState(0, start, tuple(batches)))

    def write(self, key: SharePartitionKey, update: ShareStateUpdate) -> Future[None]:
        if self.failure is not None:
            return _failed(self.failure)
        self.updates.append(update)
        self.start_offsets[key] = max(self.start_offsets[key], update.start_offset)
        for each in update.batches:
            for offset in range(each.first_offset, each.last_offset + 1):
                self.states[key][offset] = each._replace(first_offset=offset, last_offset=offset)
        return self._stored()

    def _stored(self) -> Future[None]:
        if self.held is None:
            return _done(None)
        self.held.append(asyncio.get_running_loop().create_future())
        return self.held[-1]

    def let_go(self) -> None:
        """Let end what was held up."""
        held, self.held = self.held or [], None
        for each in held:
            each.set_result(None)

    def summarize(self, key: SharePartitionKey, leader_epoch: int) -> Future[ShareStateSummary]:
        return _done(ShareStateSummary(0, leader_epoch, self.start_offsets[key], UNKNOWN_COUNT))

    def delete(self, key: SharePartitionKey) -> Future[None]:
        self.states.pop(key, None)
        return _done(None)


def _done(result: T) -> Future[T]:
    future: Future[T] = asyncio.get_running_loop().create_future()
    future.set_result(result)
    return future


def _failed(error: KafkaError) -> Future[T]:
    future: Future[T] = asyncio.get_running_loop().create_future()
    future.set_exception(error)
    return future
