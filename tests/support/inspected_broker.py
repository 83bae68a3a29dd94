"""A broker that is looked into: what its clients would do, in one call each."""

from collections.abc import Mapping
from typing import Any

from barnabas.broker.coordinator.group.decisions.classic.model import CommitRequest, OffsetToCommit
from barnabas.broker.coordinator.transaction.decisions.model import AddRequest, EndRequest, InitReply, InitRequest
from barnabas.protocol.errors import ErrorCode
from tests.support.worlds.broker import BrokerWorld, settle

TIMEOUT_MS = 600_000


class Inspected(BrokerWorld):
    """A broker with few partitions for its coordinators."""

    def __init__(self, files: Any = None, *, movable: bool = False, topics: Mapping[str, int] | None = None) -> None:
        few = {"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2"}
        super().__init__(few, files, movable=movable, topics=topics)

    def demand_replicas(self, topic: str, count: int) -> None:
        """Have a log ask for more replicas than there are, which no setting does: its high watermark stands still."""
        log = self.services.partitions.get(topic, 0)
        log.config = log.config._replace(min_insync_replicas=count)

    async def init(self, transactional_id: str) -> InitReply:
        """The producer of a transactional id."""
        request = InitRequest(transactional_id, TIMEOUT_MS)
        mine: InitReply = await now(self.services.transactions.init_producer_id(request))
        return mine

    async def begin(self, transactional_id: str, *places: tuple[str, int]) -> InitReply:
        """A transaction with a record in each of these partitions; its producer."""
        mine = await self.init(transactional_id)
        await self.go_on(transactional_id, mine, *places)
        return mine

    async def go_on(self, transactional_id: str, mine: InitReply, *places: tuple[str, int]) -> None:
        """A transaction of this producer, with a record in each of these partitions."""
        transactions = self.services.transactions
        add = AddRequest(transactional_id, mine.producer_id, mine.producer_epoch, frozenset(places), 2)
        assert await now(transactions.add_partitions(add)) is ErrorCode.NONE
        for topic, partition in places:
            producer = (mine.producer_id, mine.producer_epoch, 0)
            self.append(topic, b"t", partition=partition, producer=producer, transactional=True)

    async def end(self, transactional_id: str, mine: InitReply, *, is_commit: bool) -> None:
        request = EndRequest(transactional_id, mine.producer_id, mine.producer_epoch, is_commit, 2)
        assert (await now(self.services.transactions.end_transaction(request))).error is ErrorCode.NONE
        await settle()

    async def commit(self, group: str, topic: str, *offsets: int) -> None:
        """What a group without members commits for the first partitions of a topic."""
        topic_id = self.services.catalogue.topics[topic].topic_id
        wanted = tuple(OffsetToCommit(topic, topic_id, index, offset, -1, "") for index, offset in enumerate(offsets))
        request = CommitRequest(group, -1, "", None, wanted)
        await now(self.services.groups.commit_offsets(request, missing_group=ErrorCode.GROUP_ID_NOT_FOUND))


async def now(reply: Any) -> Any:
    """What a coordinator replies, at once or not."""
    return await reply if hasattr(reply, "__await__") else reply
