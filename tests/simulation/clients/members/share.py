"""A member of a share group (KIP-932): ShareGroupHeartbeat, and a share session with each node that leads a partition.

It does one thing at a time, as `member.py` does.
"""

import asyncio
import random
from contextlib import suppress
from typing import Any

from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.simulation.clients.errors import TRY_AGAIN
from tests.simulation.clients.looking import look
from tests.simulation.clients.members.share_session import BACKOFF_S, Chooses, Habit, NodeSession
from tests.simulation.clients.wire import Disconnected, Wire
from tests.simulation.history.history import History
from tests.simulation.history.shares import RENEW, Delivery, Membership
from tests.simulation.world.machine import Machine
from tests.simulation.world.world import World

SESSION_MS = 2_000
_JOINING, _LEAVING = 0, -1  # member epochs
_LOSES_ALL = frozenset({E.UNKNOWN_MEMBER_ID, E.FENCED_MEMBER_EPOCH})


class QueueMember:
    """One member, over several lives."""

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
        self._sessions: dict[Wire, NodeSession] = {}
        self._begin_life()

    def _begin_life(self) -> None:
        self.member_id = f"{self._client}-{self._dice.randrange(1 << 40):x}"
        self._epoch = _JOINING
        self._is_heard = False
        self._mode, self.records_max = self._dice.choice([0, 1]), self._dice.choice([1, 7, 50, 500])
        self.assigned = frozenset()
        self._sessions.clear()

    # --- the group ---------------------------------------------------------------------------------------------------

    async def stay(self) -> None:
        """A heartbeat, with which it joins if it is no member yet or any more."""
        if not self._topic_id:
            view = await look(self._world, self._wire, self._history, self._client, self._topic)
            self._topic_id = bytes.fromhex(view.topic_id)
        is_all, began_us = not self._is_heard, self._world.now_us
        try:
            answer = await self._ask(self._heartbeat(self._epoch, [self._topic] if is_all else None), 1)
        except Disconnected:
            self._is_heard = False
            await asyncio.sleep(BACKOFF_S)
            return
        code = E(answer.error_code)
        if code is E.NONE:
            self._epoch, self._is_heard = answer.member_epoch, True
            until_us = began_us + SESSION_MS * 1000
            self._history.shares.memberships.append(Membership(self.member_id, self._world.now_us, until_us))
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
        for session in self._sessions.values():
            if session.is_begun:
                await session.acknowledge(chooses, is_last=True)
        if self._epoch != _JOINING:
            self._end_membership()
            with suppress(Disconnected):  # then it is dead to the group once its session is over
                await self._ask(self._heartbeat(_LEAVING, None), 1)
        self.die()

    def _end_membership(self) -> None:
        """From now on it may be out of the group."""
        memberships, now_us = self._history.shares.memberships, self._world.now_us
        for index, each in enumerate(memberships):
            if each.member == self.member_id and each.until_us > now_us:
                memberships[index] = each._replace(until_us=now_us)

    def die(self) -> None:
        """Be gone without a word; the next life is another member."""
        self._wire.close()
        self._begin_life()

    # --- records -----------------------------------------------------------------------------------------------------

    @property
    def has_any(self) -> bool:
        """Whether it has got records and not acknowledged them."""
        return any(session.held for session in self._sessions.values())

    async def poll(self, wait_ms: int, chooses: Chooses | None = None) -> list[Delivery]:
        """One ShareFetch of each node; with `chooses` it acknowledges all that is held."""
        leaders = await self._wire.by_node((self._topic, each) for each in sorted(self.assigned))
        wanted = {wire: frozenset(number for _, number in of) for wire, of in leaders.items()}
        habit = Habit(self._mode, self.records_max, wait_ms)
        taken: list[Delivery] = []
        for wire in {**wanted, **self._sessions}:
            session = self._session(wire)
            if wire in wanted or session.is_of_use:
                taken += await session.fetch(wanted.get(wire, frozenset()), habit, chooses)
        return taken

    def _session(self, wire: Wire) -> NodeSession:
        if wire not in self._sessions:
            self._sessions[wire] = NodeSession(
                self._world,
                self._machine,
                wire,
                self._history,
                (self._group, self.member_id),
                (self._topic, self._topic_id),
                lambda partition: self._wire.forget((self._topic, partition)),
            )
        return self._sessions[wire]

    async def acknowledge(self, chooses: Chooses) -> None:
        """Acknowledge what it holds, as far as `chooses` says."""
        for session in self._sessions.values():
            await session.acknowledge(chooses)

    async def renew(self) -> None:
        """Prolong the locks of all that it holds."""
        for session in self._sessions.values():
            await session.acknowledge(lambda delivery, value: RENEW, is_renewal=True)

    async def _ask(self, request: Any, version: int) -> Any:
        began_us = self._world.now_us
        answer = await self._wire.ask(request, version)
        for wire, session in self._sessions.items():
            if wire.port == self._wire.answered_by:
                session.note_answer(began_us)
        return answer
