"""TxnOffsetCommit: settings, the disk, a deletion and a kill in between; tests/golden/probes asks the rest."""

from typing import Any

import pytest

from barnabas.broker.coordinator.runtime.partition_for import partition_for
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.files.names import CONSUMER_OFFSETS_TOPIC
from barnabas.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from tests.support import requests
from tests.support.files.memory_files import MemoryFiles
from tests.support.worlds.broker import BrokerWorld

E = ErrorCode
_PLACE = CONSUMER_OFFSETS_TOPIC, partition_for("g", 50)


class _Api:
    """A broker with the topic `t`, and a transactional producer."""

    def __init__(self, settings: dict[str, str] | None = None, files: MemoryFiles | None = None) -> None:
        self.world = BrokerWorld(settings, files, topics=None if files and files.boots else {"t": 1})
        self.producer = (-1, -1)

    async def begin(self, *, adds_offsets: bool = True) -> None:
        answer = await self.world.ask(requests.init_producer("x"), 5)
        assert answer.error_code == E.NONE
        self.producer = answer.producer_id, answer.producer_epoch
        if adds_offsets:
            request = AddOffsetsToTxnRequest(
                transactional_id="x", group_id="g", producer_id=answer.producer_id, producer_epoch=0
            )
            assert (await self.world.ask(request, 3)).error_code == E.NONE

    def committing(self) -> TxnOffsetCommitRequest:
        """Offset 5 of t-0."""
        request = requests.txn_commit("x", self.producer, "g", 5)
        request.topics[0].topic_id = self.world.services.catalogue.topics["t"].topic_id
        return request

    async def commit(self, version: int) -> int:
        """The code."""
        (topic,) = (await self.world.ask(self.committing(), version)).topics
        return int(topic.partitions[0].error_code)

    async def end(self, *, committed: bool = True) -> None:
        assert (await self.world.ask(requests.end_txn("x", self.producer, committed), 3)).error_code == E.NONE

    async def fetch(self, *, require_stable: bool = True) -> tuple[int, int]:
        """(error, offset)."""
        request = requests.offset_fetch("g", ("t", [0]), require_stable=require_stable)
        ((topic,),) = [group.topics for group in (await self.world.ask(request, 9)).groups]
        (found,) = topic.partitions
        return found.error_code, found.committed_offset

    def open_partitions(self) -> set[tuple[str, int]]:
        transaction = self.world.services.transactions.describe("x")
        return set() if transaction is None else set(transaction.partitions)


@pytest.fixture
async def api() -> _Api:
    return _Api()


async def test_with_verification_off_older_versions_are_taken_at_their_word() -> None:
    api = _Api({"transaction.partition.verification.enable": "false"})
    await api.begin(adds_offsets=False)
    assert await api.commit(4) == E.NONE


async def test_where_flushing_is_on_the_answer_waits_for_the_disk() -> None:
    api = _Api({"log.flush.interval.messages": "1"})
    await api.begin(adds_offsets=False)
    assert await api.commit(5) == E.NONE
    assert api.open_partitions() == {_PLACE}
    await api.end()
    assert await api.fetch(require_stable=False) == (E.NONE, 5)


@pytest.mark.parametrize(("version", "code"), [(5, E.UNKNOWN_TOPIC_OR_PARTITION), (6, E.UNKNOWN_TOPIC_ID)])
async def test_a_topic_deleted_while_the_commit_waits_for_its_admission_is_unknown(
    version: int, code: ErrorCode
) -> None:
    api = _Api({"log.flush.interval.messages": "1"})
    await api.begin(adds_offsets=False)
    peer = api.world.connect()
    peer.ask(api.committing(), version)
    assert peer.connection.is_parked
    api.world.services.catalogue.delete_topics(["t"])
    api.world.services.catalogue.create_topic("t", 1)
    await peer.until_answered()
    (topic,) = peer.answer().topics
    assert topic.partitions[0].error_code == code
    await api.end()
    assert api.world.services.groups.fetch_offsets("g").offsets == {}


async def test_a_failing_disk_is_reported_and_the_offsets_do_not_wait(api: _Api) -> None:
    await api.begin()
    await api.fetch()  # the group's partition is loaded
    api.world.files.fail("pwrite", 28, times=1, path=CONSUMER_OFFSETS_TOPIC)
    assert await api.commit(3) == E.NOT_COORDINATOR
    assert await api.fetch() == (E.NONE, -1)


@pytest.mark.pure
@pytest.mark.parametrize(("version", "code"), [(1, E.COORDINATOR_NOT_AVAILABLE), (2, E.COORDINATOR_LOAD_IN_PROGRESS)])
async def test_the_oldest_clients_are_not_told_that_a_group_loads(
    api: _Api, version: int, code: ErrorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    await api.begin()

    def loads(*_: Any, **__: Any) -> None:
        raise KafkaError(E.COORDINATOR_LOAD_IN_PROGRESS)

    monkeypatch.setattr(api.world.services.groups, "commit_offsets_in_transaction", loads)
    assert await api.commit(version) == code


@pytest.mark.parametrize("committed", [True, False])
async def test_a_kill_keeps_what_waits_and_the_end_counts_after_it(committed: bool) -> None:
    files = MemoryFiles(0)
    api = _Api(files=files)
    await api.begin()
    await api.commit(3)
    producer = api.producer
    files.crash("everything")
    after = _Api(files=files)
    after.producer = producer
    await after.world.broker.settle_transactions()
    assert await after.fetch() == (E.UNSTABLE_OFFSET_COMMIT, -1)
    await after.end(committed=committed)
    assert await after.fetch() == (E.NONE, 5 if committed else -1)
    await after.world.close()
    api.world.is_closed = True
