"""A member of a share group (KIP-932): ShareGroupHeartbeat, ShareFetch and ShareAcknowledge on one connection.

It does one thing at a time, as `member.py` does. Its share session ends with its connection: then it forgets what it
holds, as stock clients do.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple

from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages import share_acknowledge, share_fetch
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.record import iter_records
from tests.simulation.clients.errors import TRY_AGAIN
from tests.simulation.clients.looking import look
from tests.simulation.clients.records import value_of
from tests.simulation.clients.wire import Disconnected, Wire
from tests.simulation.history.history import History, Outcome
from tests.simulation.history.shares import GAP, RENEW, Acknowledgement, Delivery, SessionLife
from tests.simulation.world.machine import Machine
from tests.simulation.world.world import World

BACKOFF_S = 0.05
_JOINING, _LEAVING = 0, -1  # member epochs
_BEGINNING, _ENDING = 0, -1  # epochs of share sessions
_LOSES_ALL = frozenset({E.UNKNOWN_MEMBER_ID, E.FENCED_MEMBER_EPOCH})
_REFUSES = frozenset({E.INVALID_RECORD_STATE, E.INVALID_REQUEST})
_MAY_BE_STORED = TRY_AGAIN | {E.UNKNOWN_SERVER_ERROR}
"""What an acknowledgement is answered with whose state could not be stored, as far as is known."""
_BYTES_MAX = 1 << 20

Chooses = Callable[[Delivery, bytes], int | None]
"""Which type a record gets, by its delivery and value; None: it is not acknowledged yet."""


class Held(NamedTuple):
    """Records of one delivery that are not acknowledged yet."""

    delivery: Delivery
    first: int
    last: int


class QueueMember:
    """One member, over several lives. `held`: what it has got and not acknowledged."""

    def __init__(
        self,
        world: World,
        machine: Machine,
        wire: Wire,
        history: History,
        client: str,
        group: str,
        topic: str,
        dice: random.Random,
    ) -> None:
        self._world, self._machine, self._wire, self._history = world, machine, wire, history
        self._client, self._group, self._topic, self._dice = client, group, topic, dice
        self._topic_id = b""
        self.assigned: frozenset[int] = frozenset()
        self.held: list[Held] = []
        self._session: SessionLife | None = None
        self._begin_life()

    def _begin_life(self) -> None:
        self.member_id = f"{self._client}-{self._dice.randrange(1 << 40):x}"
        self._epoch = _JOINING
        self._is_heard = False
        self._mode, self.records_max = self._dice.choice([0, 1]), self._dice.choice([1, 7, 50, 500])
        self.assigned = frozenset()
        self._end_session()

    # --- the group ---------------------------------------------------------------------------------------------------

    async def stay(self) -> None:
        """A heartbeat, with which it joins if it is no member yet or any more."""
        if not self._topic_id:
            view = await look(self._world, self._wire, self._history, self._client, self._topic)
            self._topic_id = bytes.fromhex(view.topic_id)
        is_all = not self._is_heard
        try:
            answer = await self._ask(self._heartbeat(self._epoch, [self._topic] if is_all else None), 1)
        except Disconnected:
            self._is_heard = False
            await asyncio.sleep(BACKOFF_S)
            return
        code = E(answer.error_code)
        if code is E.NONE:
            self._epoch, self._is_heard = answer.member_epoch, True
            if answer.assignment is not None:
                parts = answer.assignment.topic_partitions
                self.assigned = frozenset(number for each in parts for number in each.partitions)
        elif code in _LOSES_ALL:
            self._epoch, self._is_heard = _JOINING, False
        else:
            assert code in TRY_AGAIN, f"{self._client} of {self._group}: {code.name}"
            await asyncio.sleep(BACKOFF_S)

    def _heartbeat(self, epoch: int, topics: list[str] | None) -> ShareGroupHeartbeatRequest:
        return ShareGroupHeartbeatRequest(
            group_id=self._group, member_id=self.member_id, member_epoch=epoch, subscribed_topic_names=topics
        )

    async def leave(self, chooses: Chooses) -> None:
        """Acknowledge what is left, end the session and leave the group, as one does that is closed."""
        if self._has_session:
            await self._acknowledge(chooses, is_renewal=False, epoch=_ENDING)
        if self._epoch != _JOINING:
            with suppress(Disconnected):  # then it is dead to the group once its session is over
                await self._ask(self._heartbeat(_LEAVING, None), 1)
        self.die()

    def die(self) -> None:
        """Be gone without a word; the next life is another member."""
        self._wire.close()
        self._begin_life()

    # --- records -----------------------------------------------------------------------------------------------------

    async def poll(self, wait_ms: int, chooses: Chooses | None = None) -> list[Delivery]:
        """One ShareFetch; with `chooses` it acknowledges all that is held, as implicit acknowledgement does."""
        if not self.assigned:
            return []
        began_us = self._world.now_us
        boot = self._machine.boots + (self._machine.process is None)  # if none runs, the next one answers
        try:
            await self._begin_or_resume()
            acknowledged = [] if chooses is None else list(self._chosen(chooses, self.held))
            request = self._fetch_request(wait_ms, acknowledged)
            answer = await self._ask(request, 2, wait_ms=wait_ms)
        except Disconnected:
            self._history.shares.lost_fetches_us.append(began_us)
            self._end_session()
            await asyncio.sleep(BACKOFF_S)
            return []
        assert answer.error_code == E.NONE, f"{self.member_id}: {E(answer.error_code).name}"
        self._session_epoch += 1
        parts = [part for topic in answer.responses for part in topic.partitions]
        self._finish(acknowledged, {part.partition_index: part.acknowledge_error_code for part in parts})
        return await self._take(parts, began_us, boot, answer.acquisition_lock_timeout_ms)

    async def _begin_or_resume(self) -> None:
        if not self._has_session:
            self._end_session()
            if not self._wire.is_connected:
                await self._wire.connect()
            self._connection = self._wire.connections
            self._session = SessionLife(self.member_id, self._world.now_us)

    @property
    def _has_session(self) -> bool:
        is_same = self._wire.is_connected and self._connection == self._wire.connections
        return self._session is not None and is_same

    def _end_session(self) -> None:
        """What it holds is not its own any more."""
        self._session = None
        self._session_epoch, self._connection = _BEGINNING, 0
        self._fetched: frozenset[int] = frozenset()
        self.held = []

    def _fetch_request(self, wait_ms: int, acknowledged: list[Acknowledgement]) -> share_fetch.ShareFetchRequest:
        batches = _by_partition(acknowledged, share_fetch.AcknowledgementBatch)
        wanted = sorted((self.assigned - self._fetched) | batches.keys())
        partitions = [
            share_fetch.FetchPartition(partition_index=each, acknowledgement_batches=batches.get(each, []))
            for each in wanted
        ]
        gone = sorted(self._fetched - self.assigned)
        self._fetched = self.assigned | batches.keys()
        topic = share_fetch.FetchTopic(topic_id=self._topic_id, partitions=partitions)
        forgotten = share_fetch.ForgottenTopic(topic_id=self._topic_id, partitions=gone)
        return share_fetch.ShareFetchRequest(
            group_id=self._group,
            member_id=self.member_id,
            share_session_epoch=self._session_epoch,
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=_BYTES_MAX,
            max_records=self.records_max,
            batch_size=self.records_max,
            share_acquire_mode=self._mode,
            topics=[topic] if partitions else [],
            forgotten_topics_data=[forgotten] if gone else [],
        )

    async def _take(self, parts: list[Any], began_us: int, boot: int, lock_ms: int) -> list[Delivery]:
        assert self._session is not None, "it was answered on its connection"
        taken: list[Delivery] = []
        codes = {E(part.error_code) for part in parts}
        for part in parts:
            values = _values(part)
            for each in part.acquired_records:
                first, last = each.first_offset, each.last_offset
                taken.append(
                    Delivery(
                        session=self._session,
                        at=(self._topic, part.partition_index),
                        first=first,
                        last=last,
                        count=each.delivery_count,
                        began_us=began_us,
                        ended_us=self._world.now_us,
                        boot=boot,
                        lock_ms=lock_ms,
                        values={at: value for at, value in values.items() if first <= at <= last},
                    )
                )
        for each in taken:
            self.held = [left for held in self.held for left in _without(held, each)]
        self.held += [Held(each, each.first, each.last) for each in taken]
        self._history.shares.deliveries += taken
        if codes - {E.NONE}:
            assert codes <= _MAY_BE_STORED | {E.NONE}, f"{self.member_id}: {codes}"
            await asyncio.sleep(BACKOFF_S)
        return taken

    # --- acknowledgements --------------------------------------------------------------------------------------------

    async def acknowledge(self, chooses: Chooses) -> None:
        """Acknowledge what it holds, as far as `chooses` says."""
        await self._acknowledge(chooses, is_renewal=False)

    async def renew(self) -> None:
        """Prolong the locks of all that it holds."""
        await self._acknowledge(lambda delivery, value: RENEW, is_renewal=True)

    async def _acknowledge(self, chooses: Chooses, *, is_renewal: bool, epoch: int | None = None) -> None:
        if not self._has_session:
            self._end_session()
            return
        acknowledged = list(self._chosen(chooses, self.held))
        if not acknowledged and epoch is None:
            return
        batches = _by_partition(acknowledged, share_acknowledge.AcknowledgementBatch)
        partitions = [
            share_acknowledge.AcknowledgePartition(partition_index=each, acknowledgement_batches=of)
            for each, of in batches.items()
        ]
        topic = share_acknowledge.AcknowledgeTopic(topic_id=self._topic_id, partitions=partitions)
        request = share_acknowledge.ShareAcknowledgeRequest(
            group_id=self._group,
            member_id=self.member_id,
            share_session_epoch=self._session_epoch if epoch is None else epoch,
            is_renew_ack=is_renewal,
            topics=[topic] if partitions else [],
        )
        try:
            answer = await self._ask(request, 2)
        except Disconnected:
            self._end_session()
            return
        assert answer.error_code == E.NONE, f"{self.member_id}: {E(answer.error_code).name}"
        self._session_epoch += 1
        codes = {part.partition_index: part.error_code for each in answer.responses for part in each.partitions}
        self._finish(acknowledged, codes)

    def _chosen(self, chooses: Chooses, held: Iterable[Held]) -> Iterator[Acknowledgement]:
        """Acknowledgements of what is held, in the order of their offsets. An offset without a record is a gap."""
        for delivery, first, last in sorted(held, key=lambda each: (each.delivery.at, each.first)):
            types = [
                (offset, chooses(delivery, delivery.values[offset]) if offset in delivery.values else GAP)
                for offset in range(first, last + 1)
            ]
            for is_said, run in groupby(types, key=lambda each: each[1] is not None):
                offsets, kinds = zip(*run, strict=True)
                if is_said:
                    yield self._noted(Acknowledgement(delivery, offsets[0], kinds, self._world.now_us, Outcome.UNKNOWN))

    def _noted(self, acknowledgement: Acknowledgement) -> Acknowledgement:
        acknowledgement.delivery.acknowledged.append(acknowledgement)
        self._history.shares.acknowledgements.append(acknowledgement)
        return acknowledgement

    def _finish(self, acknowledged: list[Acknowledgement], codes: dict[int, int]) -> None:
        for each in acknowledged:
            code = E(codes[each.delivery.at[1]])
            assert code in _REFUSES | _MAY_BE_STORED | {E.NONE}, f"{self.member_id}: {code.name}"
            each.ended_us = self._world.now_us
            each.error = "" if code is E.NONE else code.name
            each.outcome = Outcome.OK if code is E.NONE else Outcome.FAILED if code in _REFUSES else Outcome.UNKNOWN
            self.held = [left for held in self.held for left in _left(held, each)]

    async def _ask(self, request: Any, version: int, *, wait_ms: int = 0) -> Any:
        began_us, connections = self._world.now_us, self._wire.connections
        answer = await self._wire.ask(request, version, wait_ms=wait_ms)
        if self._session is not None and self._connection == connections == self._wire.connections:
            self._session.alive_us = began_us
        return answer


def _left(held: Held, acknowledged: Acknowledgement) -> Iterator[Held]:
    """What it still holds after an answer: what the acknowledgement was not about, and what was renewed."""
    is_renewed = acknowledged.outcome is Outcome.OK

    def is_left(offset: int) -> bool:
        kind = acknowledged.type_of(offset)
        return kind is None or (kind == RENEW and is_renewed)

    return _part(held, is_left) if held.delivery is acknowledged.delivery else iter((held,))


def _without(held: Held, delivery: Delivery) -> Iterator[Held]:
    """What it still holds when records come again whose lock had ended."""
    if held.delivery.at != delivery.at:
        return iter((held,))
    return _part(held, lambda offset: not delivery.first <= offset <= delivery.last)


def _part(held: Held, is_left: Callable[[int], bool]) -> Iterator[Held]:
    for is_held, run in groupby(range(held.first, held.last + 1), key=is_left):
        offsets = list(run)
        if is_held:
            yield Held(held.delivery, offsets[0], offsets[-1])


def _by_partition(acknowledged: list[Acknowledgement], kind: type[Any]) -> dict[int, list[Any]]:
    """The batches of a request: with one type for all their records, or one for each."""
    batches: dict[int, list[Any]] = {}
    for partition, group in groupby(acknowledged, key=lambda each: each.delivery.at[1]):
        batches[partition] = [
            kind(
                first_offset=each.first,
                last_offset=each.last,
                acknowledge_types=[each.types[0]] if len(set(each.types)) == 1 else list(each.types),
            )
            for each in group
        ]
    return batches


def _values(part: Any) -> dict[int, bytes]:
    """The records in an answer, by offset; without markers."""
    data = memoryview(bytes(part.records or b""))
    return {
        record.offset: value_of(record)
        for at, header in iter_batches(data)
        if not header.is_control
        for record in iter_records(data[at : at + header.size_in_bytes])
    }
