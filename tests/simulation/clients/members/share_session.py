"""A share session of a member with one node (KIP-932): ShareFetch and ShareAcknowledge on one connection.

It ends with its connection: then it forgets what it holds, as stock clients do.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages import share_acknowledge, share_fetch
from barnabas.protocol.records.batch import iter_batches
from barnabas.protocol.records.record import iter_records
from tests.simulation.clients.errors import TRY_AGAIN
from tests.simulation.clients.records import value_of
from tests.simulation.clients.wire import Disconnected, Wire
from tests.simulation.history.history import History, Outcome
from tests.simulation.history.shares import GAP, RENEW, Acknowledgement, Delivery, SessionLife
from tests.simulation.world.machine import Machine
from tests.simulation.world.world import World

BACKOFF_S = 0.05
ENDING = -1  # the epoch of a session's last request
_BEGINNING = 0  # the epoch of its first
_REFUSES = frozenset({E.INVALID_RECORD_STATE, E.INVALID_REQUEST})
_MAY_BE_STORED = TRY_AGAIN | {E.UNKNOWN_SERVER_ERROR}
"""What an acknowledgement is answered with whose state could not be stored, as far as is known."""
_BYTES_MAX = 1 << 20

Chooses = Callable[[Delivery, bytes], int | None]
"""Which type a record gets, by its delivery and value; None: it is not acknowledged yet."""


class Habit(NamedTuple):
    """How a member fetches."""

    mode: int
    """By batches, or by a record limit."""
    records_max: int
    wait_ms: int


class Held(NamedTuple):
    """Records of one delivery that are not acknowledged yet."""

    delivery: Delivery
    first: int
    last: int


class NodeSession:
    """Over several connections, one session on each. `held`: what the member has got and not acknowledged."""

    def __init__(
        self,
        world: World,
        machine: Machine,
        wire: Wire,
        history: History,
        member: tuple[str, str],
        topic: tuple[str, bytes],
        forget: Callable[[int], None],
    ) -> None:
        """member: of which group, and its id. topic: its name and id. forget: another node may lead the partition."""
        self._world, self._machine, self._wire, self._history = world, machine, wire, history
        self._group, self._member_id = member
        self._topic, self._topic_id = topic
        self._forget = forget
        self._life: SessionLife | None = None
        self._end()

    @property
    def is_begun(self) -> bool:
        is_same = self._wire.is_connected and self._connection == self._wire.connections
        return self._life is not None and is_same

    @property
    def is_of_use(self) -> bool:
        """Whether it fetches something, or holds something."""
        return self.is_begun and bool(self._fetched or self.held)

    async def _begin_or_resume(self) -> None:
        if not self.is_begun:
            self._end()
            if not self._wire.is_connected:
                await self._wire.connect()
            self._connection = self._wire.connections
            self._life = SessionLife(self._member_id, self._world.now_us, self._history.shares.kept_until_us)

    def _end(self) -> None:
        """What it holds is not its own any more."""
        self._life = None
        self._epoch, self._connection = _BEGINNING, 0
        self._fetched: frozenset[int] = frozenset()
        self.held: list[Held] = []

    def note_answer(self, began_us: int) -> None:
        """The node has answered what was asked then on this wire."""
        if self._life is not None and self.is_begun:
            self._life.alive_us = began_us

    async def fetch(self, wanted: frozenset[int], habit: Habit, chooses: Chooses | None) -> list[Delivery]:
        """One ShareFetch; with `chooses` it acknowledges all that is held, as implicit acknowledgement does."""
        began_us = self._world.now_us
        boot = self._machine.boots + (self._machine.process is None)  # if none runs, the next one answers
        try:
            await self._begin_or_resume()
            acknowledged = [] if chooses is None else list(self._chosen(chooses, self.held))
            request = self._fetch_request(wanted, habit, acknowledged)
            answer = await self._ask(request, 2, wait_ms=habit.wait_ms)
        except Disconnected:
            self._history.shares.lost_fetches_us.append(began_us)
            self._end()
            for partition in wanted:
                self._forget(partition)
            await asyncio.sleep(BACKOFF_S)
            return []
        assert answer.error_code == E.NONE, f"{self._member_id}: {E(answer.error_code).name}"
        self._epoch += 1
        parts = [part for topic in answer.responses for part in topic.partitions]
        self._finish(acknowledged, {part.partition_index: part.acknowledge_error_code for part in parts})
        return await self._take(parts, began_us, boot, answer.acquisition_lock_timeout_ms)

    def _fetch_request(
        self, wanted: frozenset[int], habit: Habit, acknowledged: list[Acknowledgement]
    ) -> share_fetch.ShareFetchRequest:
        batches = _by_partition(acknowledged, share_fetch.AcknowledgementBatch)
        partitions = [
            share_fetch.FetchPartition(partition_index=each, acknowledgement_batches=batches.get(each, []))
            for each in sorted((wanted - self._fetched) | batches.keys())
        ]
        gone = sorted(self._fetched - wanted)
        self._fetched = wanted | batches.keys()
        topic = share_fetch.FetchTopic(topic_id=self._topic_id, partitions=partitions)
        forgotten = share_fetch.ForgottenTopic(topic_id=self._topic_id, partitions=gone)
        return share_fetch.ShareFetchRequest(
            group_id=self._group,
            member_id=self._member_id,
            share_session_epoch=self._epoch,
            max_wait_ms=habit.wait_ms,
            min_bytes=1,
            max_bytes=_BYTES_MAX,
            max_records=habit.records_max,
            batch_size=habit.records_max,
            share_acquire_mode=habit.mode,
            topics=[topic] if partitions else [],
            forgotten_topics_data=[forgotten] if gone else [],
        )

    async def _take(self, parts: list[Any], began_us: int, boot: int, lock_ms: int) -> list[Delivery]:
        assert self._life is not None, "it was answered on its connection"
        taken: list[Delivery] = []
        codes = {part.partition_index: E(part.error_code) for part in parts if part.error_code}
        for part in parts:
            values = _values(part)
            for each in part.acquired_records:
                first, last = each.first_offset, each.last_offset
                taken.append(
                    Delivery(
                        session=self._life,
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
        if codes:
            assert _MAY_BE_STORED.issuperset(codes.values()), f"{self._member_id}: {codes}"
            for partition in codes:
                self._forget(partition)
            await asyncio.sleep(BACKOFF_S)
        return taken

    async def acknowledge(self, chooses: Chooses, *, is_renewal: bool = False, is_last: bool = False) -> None:
        """Acknowledge what it holds, as far as `chooses` says. is_last: and end the session."""
        if not self.is_begun:
            self._end()
            return
        acknowledged = list(self._chosen(chooses, self.held))
        if not acknowledged and not is_last:
            return
        batches = _by_partition(acknowledged, share_acknowledge.AcknowledgementBatch)
        partitions = [
            share_acknowledge.AcknowledgePartition(partition_index=each, acknowledgement_batches=of)
            for each, of in batches.items()
        ]
        topic = share_acknowledge.AcknowledgeTopic(topic_id=self._topic_id, partitions=partitions)
        request = share_acknowledge.ShareAcknowledgeRequest(
            group_id=self._group,
            member_id=self._member_id,
            share_session_epoch=ENDING if is_last else self._epoch,
            is_renew_ack=is_renewal,
            topics=[topic] if partitions else [],
        )
        try:
            answer = await self._ask(request, 2)
        except Disconnected:
            self._end()
            return
        assert answer.error_code == E.NONE, f"{self._member_id}: {E(answer.error_code).name}"
        self._epoch += 1
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
            assert code in _REFUSES | _MAY_BE_STORED | {E.NONE}, f"{self._member_id}: {code.name}"
            each.ended_us = self._world.now_us
            each.error = "" if code is E.NONE else code.name
            each.outcome = Outcome.OK if code is E.NONE else Outcome.FAILED if code in _REFUSES else Outcome.UNKNOWN
            self.held = [left for held in self.held for left in _left(held, each)]
            if each.outcome is Outcome.OK and RENEW not in each.types:
                self._history.shares.note_stored(each)

    async def _ask(self, request: Any, version: int, *, wait_ms: int = 0) -> Any:
        began_us = self._world.now_us
        answer = await self._wire.ask(request, version, wait_ms=wait_ms)
        self.note_answer(began_us)
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
