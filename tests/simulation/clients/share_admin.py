"""Setting the offsets of a share group, as `kafka-share-groups.sh --reset-offsets` and `--delete-offsets` do it.

What is not answered is not asked again: it may have been done, and may be done yet.
"""

from typing import Any

from barnabas.protocol.codec.schema import Request
from barnabas.protocol.errors import ErrorCode as E
from barnabas.protocol.messages import alter_share_group_offsets as alter
from barnabas.protocol.messages import delete_share_group_offsets as delete
from tests.simulation.clients.errors import TRY_AGAIN
from tests.simulation.clients.wire import Disconnected, Wire
from tests.simulation.history.history import History, Outcome, TopicPartition
from tests.simulation.history.shares import Reset
from tests.simulation.world.world import World

_REFUSES = frozenset({E.NON_EMPTY_GROUP, E.GROUP_ID_NOT_FOUND})


class ShareAdmin:
    """Of one group, which reads one topic."""

    def __init__(self, world: World, wire: Wire, history: History, group: str, topic: str) -> None:
        self._world, self._wire, self._history = world, wire, history
        self._group, self._topic = group, topic

    async def alter(self, at: TopicPartition, offset: int) -> None:
        """Let the group begin there."""
        partition = alter.AlterShareGroupOffsetsRequestPartition(partition_index=at[1], start_offset=offset)
        topic = alter.AlterShareGroupOffsetsRequestTopic(topic_name=self._topic, partitions=[partition])
        request = alter.AlterShareGroupOffsetsRequest(group_id=self._group, topics=[topic])
        await self._do(request, [Reset(at, offset, self._world.now_us, Outcome.UNKNOWN)])

    async def delete(self, partitions: int) -> None:
        """Let the group begin again where the topic does."""
        topic = delete.DeleteShareGroupOffsetsRequestTopic(topic_name=self._topic)
        request = delete.DeleteShareGroupOffsetsRequest(group_id=self._group, topics=[topic])
        now_us = self._world.now_us
        resets = [Reset((self._topic, number), 0, now_us, Outcome.UNKNOWN) for number in range(partitions)]
        await self._do(request, resets)

    async def _do(self, request: Request, resets: list[Reset]) -> None:
        self._history.shares.resets += resets
        try:
            answer = await self._wire.ask(request, 0)
        except Disconnected:
            return
        code = _code(answer)
        assert code in _REFUSES | TRY_AGAIN | {E.NONE, E.UNKNOWN_SERVER_ERROR}, f"{resets[0].line()}: {code.name}"
        for each in resets:
            if code is E.NONE:
                each.outcome, each.ended_us = Outcome.OK, self._world.now_us
            elif code in _REFUSES:
                each.outcome, each.error, each.ended_us = Outcome.FAILED, code.name, self._world.now_us


def _code(answer: Any) -> E:
    """The first error in an answer."""
    topics = answer.responses
    codes = [answer.error_code, *(getattr(topic, "error_code", E.NONE) for topic in topics)]
    codes += [each.error_code for topic in topics for each in getattr(topic, "partitions", ())]
    return E(next((code for code in codes if code), E.NONE))
