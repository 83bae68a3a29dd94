"""A producer: idempotent, or transactional in both protocols of KIP-890, over all that fails. The base of the others.

This one is plain: what it was asked to write it tries again with the same sequence numbers, over as many connections as
it takes, until it is told an error that it cannot get over, or has no more patience. Several requests are on their way
at a time, and what is refused for now takes those behind it with it. Everything goes into the history.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.primitives import ZERO_UUID
from barnabas.protocol.records.builder import build_batch
from tests.simulation.clients.errors import (
    COORDINATOR_MOVES,
    FENCED,
    IS_BEHIND,
    IS_WRITTEN,
    TRY_AGAIN,
    Fenced,
    GaveUp,
    Unusable,
)
from tests.simulation.clients.members.identity import NO_MEMBER, Identity
from tests.simulation.clients.records import stored
from tests.simulation.clients.wire import Disconnected, Wire
from tests.simulation.history.history import History, Incarnation, Outcome, Send, TopicPartition, Transaction
from tests.simulation.history.topics import topic_id_in
from tests.simulation.world.world import World
from tests.support.clients.answers import code_of_add, code_of_offsets
from tests.support.requests import add_partitions, end_txn, init_producer, produce, txn_commit

_BACKOFF_S = 0.05
_PAUSE_S_MAX = 2.0
_PRODUCE_BY_ID = 13


class Versions(NamedTuple):
    """Which version of each API is spoken."""

    init: int = 5
    add: int = 3
    add_offsets: int = 3
    end: int = 5
    produce: int = 12
    offsets: int = 5


_BY_PROTOCOL = {1: Versions(end=4, produce=11, offsets=4), 2: Versions()}


class Producer:
    """One transactional id (None: idempotent only) of one client. `protocol` is 1 or 2, as transaction.version."""

    versions: Versions | None = None
    """None: as new as the protocol lets it."""

    def __init__(
        self,
        world: World,
        wire: Wire,
        history: History,
        client: str,
        *,
        transactional_id: str | None,
        protocol: int,
        timeout_ms: int,
        in_flight: int,
        delivery_ms: int,
        dice: random.Random,
    ) -> None:
        """delivery_ms: after how long it gives up a record; 0 is never."""
        self._world, self._wire, self._history, self._client = world, wire, history, client
        self._transactional_id, self._protocol, self._timeout_ms = transactional_id, protocol, timeout_ms
        self._versions = self.versions or _BY_PROTOCOL[protocol]
        self._in_flight, self._delivery_us = in_flight, delivery_ms * 1000
        self._dice = dice
        self._numbers = 0
        self._transactions = 0
        self._sequences: dict[TopicPartition, int] = {}
        self._added: set[TopicPartition] = set()
        self._has_added_group = False
        self.sends: list[Send] = []
        self.incarnation: Incarnation
        self.transaction: Transaction | None = None

    # --- lives and transactions ------------------------------------------------------------------------------------

    async def init(self) -> None:
        """Begin a new life: what was open is aborted by it."""
        self.incarnation = incarnation = Incarnation(self._client, self._transactional_id, self._world.now_us)
        self._history.incarnations.append(incarnation)
        request = init_producer(self._transactional_id, self._timeout_ms)
        answer = await self._until_answered(request, self._versions.init, lambda answer: answer.error_code)
        if answer.error_code != ErrorCode.NONE:
            raise Fenced(ErrorCode(answer.error_code).name)
        incarnation.ended_us = self._world.now_us
        self._become(answer.producer_id, answer.producer_epoch)

    def _become(self, producer_id: int, epoch: int) -> None:
        self.incarnation.producer_id, self.incarnation.epoch = self._id, self._epoch = producer_id, epoch
        self._sequences.clear()

    def begin(self) -> Transaction:
        """Begin a transaction; nobody is told yet."""
        self._transactions += 1
        self._added.clear()
        self._has_added_group = False
        self.transaction = Transaction(self.incarnation, self._transactions, self._world.now_us)
        self._history.transactions.append(self.transaction)
        return self.transaction

    async def end(self, *, commit: bool) -> None:
        """Fenced if it was not to be."""
        transaction = self.transaction
        assert transaction is not None
        transaction.is_commit, transaction.end_asked_us = commit, self._world.now_us
        request = end_txn(self._transactional_id or "", (self._id, self._epoch), commit)
        tries = _Tries()
        transaction.outcome = Outcome.UNKNOWN
        answer = await self._until_answered(request, self._versions.end, _code, tries)
        transaction.end_answered_us = self._world.now_us
        transaction.end_lost_us = tries.lost_us
        code = ErrorCode(answer.error_code)
        self.transaction = None
        if code is not ErrorCode.NONE:
            if not (tries.lost or tries.moved):
                transaction.outcome = Outcome.FAILED
            raise Fenced(code.name)
        transaction.outcome = Outcome.OK
        if self._protocol == 2:
            self._become(answer.producer_id, answer.producer_epoch)
        elif tries.lost and (self._delivery_us or tries.arrives_us > self._world.now_us):
            raise Fenced("an EndTxn may arrive yet")  # and end the next transaction, in the older protocol (KIP-890)

    async def recover(self, error: Unusable) -> None:
        """Get over an error that the transaction cannot be gone on with; Fenced if that takes a new life.

        This one says that it aborts if it gave up, and begins a new life later: what it gave up may arrive in between.
        """
        if self.transaction is None or not isinstance(error, GaveUp):
            raise Fenced(*error.args)
        try:
            await self.end(commit=False)
        finally:
            await asyncio.sleep(self._dice.uniform(0, _PAUSE_S_MAX))
        raise Fenced(*error.args)

    def leave(self) -> None:
        """It is gone, as if its process had died."""
        self._wire.close()

    # --- records ---------------------------------------------------------------------------------------------------

    async def send(self, at: TopicPartition, count: int, sources: Sequence[str] = ()) -> None:
        """Write so many records, each in a batch of its own; `sources`: what they are made of. Fenced, Unusable."""
        if self.transaction is not None and self._protocol == 1 and at not in self._added:
            await self._add(at)
        await self._send_all([self._new_send(at, sources[index] if sources else "") for index in range(count)])

    async def send_keyed(self, at: TopicPartition, keyed: Sequence[tuple[bytes, bool]]) -> None:
        """Write a record for each key, in a batch of its own; True: a tombstone. Fenced, Unusable."""
        if self.transaction is not None and self._protocol == 1 and at not in self._added:
            await self._add(at)
        sends = [self._new_send(at, "") for _ in keyed]
        for send, (key, is_tombstone) in zip(sends, keyed, strict=True):
            send.key, send.is_tombstone = key, is_tombstone
        await self._send_all(sends)

    async def _send_all(self, waiting: list[Send]) -> None:
        try:
            while waiting:
                waiting = await self._send_some(waiting)
                if waiting and self._is_too_old(waiting[0]):
                    raise GaveUp("not delivered")
        finally:
            for send in waiting:
                if send.outcome is Outcome.OPEN:
                    send.outcome = Outcome.UNKNOWN

    def _is_too_old(self, send: Send) -> bool:
        return 0 < self._delivery_us <= self._world.now_us - send.began_us

    def _new_send(self, at: TopicPartition, source: str) -> Send:
        send = self._record(at, source)
        self._number(send)
        return send

    def _number(self, send: Send) -> None:
        """Give it the next sequence of its partition."""
        send.producer, send.sequence = (self._id, self._epoch), self._sequences.get(send.at, 0)
        self._sequences[send.at] = send.sequence + 1

    def _record(self, at: TopicPartition, source: str) -> Send:
        """Something to be written, which has no sequence yet."""
        self._numbers += 1
        value = f"{self._client}.{self._numbers}".encode()
        send = Send(self.incarnation, self.transaction, at, value, -1, self._world.now_us, source=source)
        self._history.sends.append(send)
        self.sends.append(send)
        if self.transaction is not None:
            self.transaction.sends.append(send)
        return send

    async def _send_some(self, waiting: Sequence[Send]) -> list[Send]:
        """Send the first ones; returns what is still to be sent."""
        window = waiting[: self._in_flight]
        answers = await asyncio.gather(*[self._produce(send) for send in window])
        behind: list[Send] = []
        for send, (answer, port) in zip(window, answers, strict=True):
            if answer is None or (code := ErrorCode(answer.error_code)) in TRY_AGAIN or (code in IS_BEHIND and behind):
                send.tries += 1
                send.error = "" if answer is None else ErrorCode(answer.error_code).name
                behind.append(send)
                continue
            send.ended_us = self._world.now_us
            if code in IS_WRITTEN:
                send.port = port
                send.outcome, send.error = Outcome.OK, ""
                send.offset = answer.base_offset if answer.base_offset >= 0 else None
                continue
            send.error = code.name
            send.outcome = Outcome.FAILED if send.tries == 1 else Outcome.UNKNOWN
            if code in FENCED:
                raise Fenced(code.name)
            raise Unusable(code.name)
        if behind:
            await asyncio.sleep(_BACKOFF_S)
        return [*behind, *waiting[len(window) :]]

    async def _produce(self, send: Send) -> tuple[Any, int]:
        """The answer for the one partition, None if the connection was lost; and by which port it came."""
        is_transactional = send.transaction is not None
        batch = build_batch(
            [stored(send)],
            producer_id=send.producer[0],
            producer_epoch=send.producer[1],
            base_sequence=send.sequence,
            transactional=is_transactional,
        )
        topic, partition = send.at
        topic_id = topic_id_in(topic)
        request = produce(
            {partition: bytes(batch)}, topic, transactional_id=self._transactional_id if is_transactional else None
        )
        request.topic_data[0].topic_id = topic_id or ZERO_UUID
        try:
            version = self._versions.produce if self._protocol == 1 or topic_id is None else _PRODUCE_BY_ID
            answer = await self._wire.ask(request, version)
        except Disconnected:
            return None, 0
        return answer.responses[0].partition_responses[0], self._wire.answered_by

    async def _add(self, at: TopicPartition) -> None:
        request = add_partitions(self._transactional_id or "", (self._id, self._epoch), (at[0], [at[1]]))
        answer = await self._until_answered(request, self._versions.add, code_of_add)
        _raise(code_of_add(answer))
        self._added.add(at)

    # --- offsets ---------------------------------------------------------------------------------------------------

    async def send_offset(self, group: str, at: TopicPartition, offset: int, member: Identity = NO_MEMBER) -> None:
        """Commit a group's offset with the transaction, as one of its members or as nobody. Fenced, Unusable."""
        transaction = self.transaction
        assert transaction is not None
        if self._protocol == 1 and not self._has_added_group:
            adding = AddOffsetsToTxnRequest(
                transactional_id=self._transactional_id or "",
                producer_id=self._id,
                producer_epoch=self._epoch,
                group_id=group,
            )
            _raise(_code(await self._until_answered(adding, self._versions.add_offsets, _code)))
            self._has_added_group = True
        request = txn_commit(self._transactional_id or "", (self._id, self._epoch), group, offset, at[0], at[1])
        request.generation_id_or_member_epoch, request.member_id = member.epoch, member.member_id
        request.group_instance_id = member.instance_id
        transaction.offsets[group, *at] = offset
        _raise(code_of_offsets(await self._until_answered(request, self._versions.offsets, code_of_offsets)))

    # --- asking ----------------------------------------------------------------------------------------------------

    async def _until_answered(
        self, request: Any, version: int, code_of: Callable[[Any], int], tries: _Tries | None = None
    ) -> Any:
        """Ask until there is an answer that does not say "again"."""
        while True:
            try:
                answer = await self._wire.ask(request, version)
            except Disconnected:
                if tries is not None:
                    tries.lost, tries.lost_us = tries.lost + 1, self._world.now_us
                    tries.arrives_us = max(tries.arrives_us, self._wire.arrives_us)
            else:
                code = ErrorCode(code_of(answer))
                if code not in TRY_AGAIN:
                    return answer
                if tries is not None and code in COORDINATOR_MOVES:
                    tries.moved += 1
            await asyncio.sleep(_BACKOFF_S * self._dice.uniform(0.5, 2))


class _Tries:
    """How many tries were never answered, or by a coordinator that was moving: one may have been applied."""

    lost = moved = 0
    lost_us = 0
    arrives_us = 0
    """When the last of them arrives, at another node than the one that answers, perhaps."""


def _raise(code: int) -> None:
    found = ErrorCode(code)
    if found in FENCED:
        raise Fenced(found.name)
    if found is not ErrorCode.NONE:
        raise Unusable(found.name)


def _code(answer: Any) -> int:
    return int(answer.error_code)
