"""A member in the classic protocol: JoinGroup, SyncGroup, Heartbeat. The leader assigns by range; everybody gives up
everything before each rebalance.
"""

import asyncio
from contextlib import suppress

from barnabas.client.consume import assignors
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.log_records.consumer_protocol import decode_assignment
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupResponse
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.simulation.clients.errors import TRY_AGAIN
from tests.simulation.clients.members.member import BACKOFF_S, REBALANCE_MS, SESSION_MS, Member
from tests.simulation.clients.wire import Disconnected
from tests.support.requests import join_group, sync_group

_IS_UNKNOWN = frozenset({E.UNKNOWN_MEMBER_ID, E.FENCED_INSTANCE_ID})
_JOINS_AGAIN = TRY_AGAIN | {E.REBALANCE_IN_PROGRESS, E.ILLEGAL_GENERATION}


class ClassicMember(Member):
    """`_join` is both JoinGroup and SyncGroup."""

    version_of_commit = 8
    version_of_offset_fetch = 8

    async def _join(self) -> None:
        request = join_group(
            *(self.group, self.member_id, assignors.encode_subscription([self._topic])),
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            group_instance_id=self._instance_id,
        )
        joined = await self._wire.ask(request, 7, wait_ms=REBALANCE_MS)
        code = E(joined.error_code)
        if code is E.MEMBER_ID_REQUIRED:
            self.member_id = joined.member_id
        elif code is not E.NONE:
            await self._get_over(code)
        else:
            self.member_id = joined.member_id
            await self._sync(joined)

    async def _sync(self, joined: JoinGroupResponse) -> None:
        request = sync_group(
            *(self.group, joined.generation_id, self.member_id),
            self._shares(joined) if joined.leader == self.member_id else {},
            group_instance_id=self._instance_id,
            protocol_type=assignors.PROTOCOL_TYPE,
            protocol_name=joined.protocol_name,
        )
        synced = await self._wire.ask(request, 5, wait_ms=REBALANCE_MS)
        if synced.error_code != E.NONE:
            return await self._get_over(E(synced.error_code))
        shares = decode_assignment(synced.assignment).assigned_partitions if synced.assignment else []
        share = {(each.topic, number) for each in shares for number in each.partitions}
        self._own(joined.generation_id, share, self._world.now_us)

    def _shares(self, joined: JoinGroupResponse) -> dict[str, bytes]:
        subscriptions = {member.member_id: assignors.subscribed_topics(member.metadata) for member in joined.members}
        shares = assignors.range_assignment(subscriptions, {self._topic: self._partitions})
        return {member_id: assignors.encode_assignment(share) for member_id, share in shares.items()}

    async def _beat(self) -> None:
        request = HeartbeatRequest(
            group_id=self.group, generation_id=self.epoch, member_id=self.member_id, group_instance_id=self._instance_id
        )
        code = E((await self._wire.ask(request, 4)).error_code)
        if code is E.REBALANCE_IN_PROGRESS and self._dice.random() < 0.7:
            await self.commit()
        if code is not E.NONE and code not in TRY_AGAIN:
            await self._get_over(code)

    async def _get_over(self, code: E) -> None:
        """Join again, as somebody new if the group does not know it."""
        assert code in _IS_UNKNOWN | _JOINS_AGAIN, f"{self._client} of {self.group}: {code.name}"
        if code in _IS_UNKNOWN:
            self.member_id = ""
        self._lose_all()
        await asyncio.sleep(BACKOFF_S)

    def _note_lost(self) -> None:
        """It asks again; each request says all there is to say."""

    async def leave(self) -> None:
        if self._instance_id is None and self.member_id:
            members = [MemberIdentity(member_id=self.member_id)]
            with suppress(Disconnected):  # then it is dead to the group once its session is over
                await self._wire.ask(LeaveGroupRequest(group_id=self.group, members=members), 5)
        self.die()
