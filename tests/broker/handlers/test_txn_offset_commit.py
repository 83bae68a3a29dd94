"""TxnOffsetCommit in all its versions, and what OffsetFetch and others see of it before and after the marker."""

from typing import Any

import pytest

from barnabas.broker.coordinator.runtime.placement import partition_for
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.end_txn import EndTxnRequest
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas.protocol.schema import Request
from tests.support.files.memory_files import MemoryFiles
from tests.support.worlds.broker import BrokerWorld, settle

E = ErrorCode
_VERSIONS = range(7)
_PARTITION = partition_for("g", 50)
_PLACE = CONSUMER_OFFSETS_TOPIC, _PARTITION


def _of(index: int, offset: int) -> TxnOffsetCommitRequestPartition:
    return TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata=None)


class _Api:
    """A broker with the topic `t` (3 partitions), and a transactional producer."""

    def __init__(self, settings: dict[str, str] | None = None, files: MemoryFiles | None = None) -> None:
        self.world = BrokerWorld(settings, files)
        self.peer = self.world.connect()
        if "t" not in self.world.services.catalogue.topics:
            self.world.services.catalogue.create_topic("t", 3)
        self.producer: dict[str, Any] = {}

    async def ask(self, request: Request, version: int) -> Any:
        self.peer.ask(request, version)
        await settle()
        if not self.peer.transport.written.is_set():
            await self.peer.until_answered()
        return self.peer.answer()

    async def begin(self, *, adds_offsets: bool = True) -> None:
        request = InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=60_000)
        answer = await self.ask(request, 5)
        assert answer.error_code == E.NONE
        self.producer = {"producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}
        if adds_offsets:
            added = await self.ask(AddOffsetsToTxnRequest(transactional_id="x", group_id="g", **self.producer), 3)
            assert added.error_code == E.NONE

    async def commit(self, version: int, *partitions: tuple[int, int], topic: str = "t", **fields: Any) -> list[int]:
        """The codes of the answer, partition by partition."""
        wanted = [_of(*each) for each in partitions]
        found = self.world.services.catalogue.topics.get(topic)
        topic_id = bytes(15) + b"\x07" if found is None else found.topic_id
        topics = [TxnOffsetCommitRequestTopic(name=topic, topic_id=topic_id, partitions=wanted)]
        settings = {"transactional_id": "x", "group_id": "g", "topics": topics, **self.producer}
        answer = await self.ask(TxnOffsetCommitRequest(**(settings | fields)), version)
        return [partition.error_code for topic in answer.topics for partition in topic.partitions]

    async def end(self, *, committed: bool) -> None:
        answer = await self.ask(EndTxnRequest(transactional_id="x", committed=committed, **self.producer), 3)
        assert answer.error_code == E.NONE

    async def fetch(self, *, require_stable: bool, version: int = 7) -> list[tuple[int, int]]:
        """(error, offset) of each partition."""
        if version < 8:
            topics = [OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1, 2])]
            request = OffsetFetchRequest(group_id="g", topics=topics, require_stable=require_stable)
            found = (await self.ask(request, version)).topics
        else:
            named = {"topic_id": self.world.services.catalogue.topics["t"].topic_id} if version >= 10 else {"name": "t"}
            wanted = [OffsetFetchRequestTopics(partition_indexes=[0, 1, 2], **named)]
            group = OffsetFetchRequestGroup(group_id="g", topics=wanted)
            request = OffsetFetchRequest(groups=[group], require_stable=require_stable)
            found = (await self.ask(request, version)).groups[0].topics
        return [(each.error_code, each.committed_offset) for topic in found for each in topic.partitions]

    def open_partitions(self) -> set[tuple[str, int]]:
        transaction = self.world.services.transactions.describe("x")
        return set() if transaction is None else set(transaction.partitions)


@pytest.fixture
async def api() -> _Api:
    return _Api()


@pytest.mark.parametrize("version", _VERSIONS)
async def test_offsets_wait_for_the_commit_in_every_version(api: _Api, version: int) -> None:
    await api.begin()
    assert await api.commit(version, (0, 5), (2, 7)) == [E.NONE, E.NONE]
    assert await api.fetch(require_stable=False) == [(E.NONE, -1)] * 3
    unstable = E.UNSTABLE_OFFSET_COMMIT
    assert await api.fetch(require_stable=True) == [(unstable, -1), (E.NONE, -1), (unstable, -1)]
    await api.end(committed=True)
    assert await api.fetch(require_stable=True) == [(E.NONE, 5), (E.NONE, -1), (E.NONE, 7)]


async def test_an_abort_leaves_what_was_there(api: _Api) -> None:
    await api.begin()
    await api.commit(3, (0, 5))
    await api.end(committed=True)
    await api.ask(AddOffsetsToTxnRequest(transactional_id="x", group_id="g", **api.producer), 3)
    await api.commit(3, (0, 9), (1, 9))
    await api.end(committed=False)
    assert await api.fetch(require_stable=True) == [(E.NONE, 5), (E.NONE, -1), (E.NONE, -1)]


@pytest.mark.parametrize("version", [5, 6])
async def test_from_version_5_on_the_group_is_added_by_the_commit_itself(api: _Api, version: int) -> None:
    await api.begin(adds_offsets=False)
    assert await api.commit(version, (0, 5)) == [E.NONE]
    assert api.open_partitions() == {_PLACE}


async def test_with_verification_off_older_versions_are_taken_at_their_word() -> None:
    api = _Api({"transaction.partition.verification.enable": "false"})
    await api.begin(adds_offsets=False)
    assert await api.commit(4, (0, 5)) == [E.NONE]


async def test_where_flushing_is_on_the_answer_waits_for_the_disk() -> None:
    api = _Api({"log.flush.interval.messages": "1"})
    await api.begin(adds_offsets=False)
    assert await api.commit(5, (0, 5)) == [E.NONE]
    assert api.open_partitions() == {_PLACE}
    await api.end(committed=True)
    assert await api.fetch(require_stable=False) == [(E.NONE, 5), (E.NONE, -1), (E.NONE, -1)]


@pytest.mark.parametrize(("version", "code"), [(5, E.UNKNOWN_TOPIC_OR_PARTITION), (6, E.UNKNOWN_TOPIC_ID)])
async def test_a_topic_deleted_while_the_commit_waits_for_its_admission_is_unknown(
    version: int, code: ErrorCode
) -> None:
    api = _Api({"log.flush.interval.messages": "1"})
    await api.begin(adds_offsets=False)
    topic_id = api.world.services.catalogue.topics["t"].topic_id
    topics = [TxnOffsetCommitRequestTopic(name="t", topic_id=topic_id, partitions=[_of(0, 5)])]
    fields = {"transactional_id": "x", "group_id": "g", "topics": topics, **api.producer}
    api.peer.ask(TxnOffsetCommitRequest(**fields), version)
    assert api.peer.connection.is_parked
    api.world.services.catalogue.delete_topics(["t"])
    api.world.services.catalogue.create_topic("t", 1)
    await api.peer.until_answered()
    (topic,) = api.peer.answer().topics
    assert topic.partitions[0].error_code == code
    await api.end(committed=True)
    assert api.world.services.groups.fetch_offsets("g").offsets == {}


async def test_a_failing_disk_is_told_and_the_offsets_do_not_wait(api: _Api) -> None:
    await api.begin()
    await api.fetch(require_stable=True)  # the group's partition is loaded
    api.world.files.fail("pwrite", 28, times=1, path=CONSUMER_OFFSETS_TOPIC)
    assert await api.commit(3, (0, 5)) == [E.NOT_COORDINATOR]
    assert await api.fetch(require_stable=True) == [(E.NONE, -1)] * 3


@pytest.mark.pure
@pytest.mark.parametrize(("version", "code"), [(1, E.COORDINATOR_NOT_AVAILABLE), (2, E.COORDINATOR_LOAD_IN_PROGRESS)])
async def test_the_oldest_clients_are_not_told_that_a_group_loads(
    api: _Api, version: int, code: ErrorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    await api.begin()

    def loads(*_: Any, **__: Any) -> None:
        raise KafkaError(E.COORDINATOR_LOAD_IN_PROGRESS)

    monkeypatch.setattr(api.world.services.groups, "commit_offsets_in_transaction", loads)
    assert await api.commit(version, (0, 5)) == [code]


@pytest.mark.parametrize("committed", [True, False])
async def test_a_kill_keeps_what_waits_and_the_end_counts_after_it(committed: bool) -> None:
    files = MemoryFiles(0)
    api = _Api(files=files)
    await api.begin()
    await api.commit(3, (0, 5))
    producer = api.producer
    files.crash("everything")
    after = _Api(files=files)
    after.producer = producer
    await after.world.broker.settle_transactions()
    assert (await after.fetch(require_stable=True))[0] == (E.UNSTABLE_OFFSET_COMMIT, -1)
    await after.end(committed=committed)
    assert (await after.fetch(require_stable=True))[0] == (E.NONE, 5 if committed else -1)
    await after.world.close()
    api.world.is_closed = True
