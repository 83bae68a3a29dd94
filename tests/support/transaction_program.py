"""A transactional program that outlives its broker: every request that got no answer is sent again to the next run.

It knows what it was told and what that obliges the broker to (`Ledger`), and looks after every restart and at the end
whether what readers see can be: a transaction whole or absent, nothing that was acknowledged lost, epochs that only
rise. Speaks both protocols of KIP-890: partitions added by requests of their own (1), or by writing to them (2).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from protocol.records.batch import iter_batches
from protocol.records.record import iter_records
from protocol.schema import Request
from tests.support.memory_files import PowerCut
from tests.support.mortal_broker import MortalBroker

E = ErrorCode
OUT, IN, GROUP, TRANSACTIONAL_ID = "out", "in", "g", "tx"
PARTITIONS = 3
TIMEOUT_MS = 20_000
_AGAIN = frozenset({
    E.CONCURRENT_TRANSACTIONS,
    E.COORDINATOR_LOAD_IN_PROGRESS,
    E.COORDINATOR_NOT_AVAILABLE,
    E.NOT_COORDINATOR,
})  # fmt: skip
_BACKOFF_MS = 50
_WRITTEN = frozenset({E.NONE, E.DUPLICATE_SEQUENCE_NUMBER})


class Fate(Enum):
    """What the program knows of a transaction."""

    OPEN = "nobody asked for its end"
    COMMITTING = "its commit was asked for and not answered"
    COMMITTED = "its commit was answered"
    ABORTED = "its abort was asked for, or it can no longer be committed"


@dataclass
class Transaction:
    """One transaction of the program: what it wrote where, and what became of it."""

    values: dict[int, list[bytes]] = field(default_factory=dict)
    offset: int | None = None
    fate: Fate = Fate.OPEN


class TransactionProgram:
    """A producer and a reader, over the deaths of their broker."""

    def __init__(self, broker: MortalBroker, protocol: int) -> None:
        self.broker = broker
        self.transactions: list[Transaction] = []
        self._protocol = protocol
        self._acknowledged: dict[int, list[bytes]] = {number: [] for number in range(PARTITIONS)}
        self._producer_id = self._producer_epoch = -1
        self._highest: dict[int, int] = {}
        self._sequences: dict[int, int] = {}
        self._added: set[int] = set()

    @property
    def current(self) -> Transaction:
        return self.transactions[-1]

    # --- what it does ---

    async def init(self) -> None:
        """Become the producer of the id; what was open can no longer be committed."""
        if self.transactions and self.current.fate is Fate.OPEN:
            self.current.fate = Fate.ABORTED
        request = InitProducerIdRequest(transactional_id=TRANSACTIONAL_ID, transaction_timeout_ms=TIMEOUT_MS)
        answer = await self._call(request, 5)
        assert answer.error_code == E.NONE, answer
        self._go_on_as(answer)

    def begin(self) -> None:
        self.transactions.append(Transaction())
        self._added.clear()

    async def send(self, *partitions: int) -> None:
        """One record to each of the partitions."""
        if self._protocol == 1:
            await self._add({*partitions} - self._added)
        for partition in partitions:
            value = b"%d:%d:%d" % (len(self.transactions), partition, len(self._acknowledged[partition]))
            self.current.values.setdefault(partition, []).append(value)
            sequence = self._sequences.get(partition, 0)
            batch = self.broker.world.batch(
                value, producer=(self._producer_id, self._producer_epoch, sequence), transactional=True
            )
            topic = TopicProduceData(name=OUT, partition_data=[PartitionProduceData(index=partition, records=batch)])
            request = ProduceRequest(transactional_id=TRANSACTIONAL_ID, acks=-1, timeout_ms=1000, topic_data=[topic])
            answer = await self._call(request, 12 if self._protocol == 2 else 11, _code_of_produce)
            assert _code_of_produce(answer) in _WRITTEN, answer
            self._acknowledged[partition].append(value)
            self._sequences[partition] = sequence + 1

    async def _add(self, partitions: set[int]) -> None:
        if not partitions:
            return
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=TRANSACTIONAL_ID,
            v3_and_below_producer_id=self._producer_id,
            v3_and_below_producer_epoch=self._producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=OUT, partitions=sorted(partitions))],
        )
        answer = await self._call(request, 3, _code_of_add)
        assert _code_of_add(answer) == E.NONE, answer
        self._added |= partitions

    async def send_offset(self, offset: int) -> None:
        """Commit the group's offset as part of the transaction."""
        if self._protocol == 1:
            adding = AddOffsetsToTxnRequest(
                transactional_id=TRANSACTIONAL_ID,
                producer_id=self._producer_id,
                producer_epoch=self._producer_epoch,
                group_id=GROUP,
            )
            answer = await self._call(adding, 3)
            assert answer.error_code == E.NONE, answer
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata=None)
        request = TxnOffsetCommitRequest(
            transactional_id=TRANSACTIONAL_ID,
            group_id=GROUP,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            topics=[TxnOffsetCommitRequestTopic(name=IN, partitions=[partition])],
        )
        answer = await self._call(request, 5 if self._protocol == 2 else 4, _code_of_offsets)
        assert _code_of_offsets(answer) == E.NONE, answer
        self.current.offset = offset

    async def end(self, *, commit: bool) -> None:
        self.current.fate = Fate.COMMITTING if commit else Fate.ABORTED
        answer = await self._end(commit=commit)
        assert answer.error_code == E.NONE, answer
        if commit:
            self.current.fate = Fate.COMMITTED
        if self._protocol == 2:
            self._go_on_as(answer)

    async def time_out(self) -> None:
        """Wait until the broker has aborted the transaction, and try to commit it all the same."""
        self.current.fate = Fate.ABORTED
        await self._wait(TIMEOUT_MS + 10_000)
        answer = await self._end(commit=True)
        assert answer.error_code in (E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH, E.INVALID_TXN_STATE), answer

    async def _end(self, *, commit: bool) -> Any:
        request = EndTxnRequest(
            transactional_id=TRANSACTIONAL_ID,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            committed=commit,
        )
        return await self._call(request, 5 if self._protocol == 2 else 4)

    def _go_on_as(self, answer: Any) -> None:
        assert answer.producer_epoch > self._highest.get(answer.producer_id, -1), "an epoch went back"
        self._highest[answer.producer_id] = answer.producer_epoch
        self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch
        self._sequences.clear()

    # --- over the broker's deaths ---

    async def _call(self, request: Request, version: int, code_of: Any = None) -> Any:
        """The answer that is no "try again": from this run of the broker, or from the next."""
        while True:
            try:
                answer = await self.broker.ask(request, version)
            except PowerCut:
                await self._survive()
                continue
            if (code_of or _top_code)(answer) not in _AGAIN:
                return answer
            await self._wait(_BACKOFF_MS)

    async def _wait(self, delay_ms: int) -> None:
        try:
            await self.broker.advance(delay_ms)
        except PowerCut:
            await self._survive()
            await self._wait(delay_ms)

    async def _survive(self) -> None:
        await self.broker.boot()
        await self.check()

    # --- what readers see ---

    async def check(self) -> None:
        """AssertionError unless everything readers see can be."""
        committed = [await self._read(partition, isolation_level=1) for partition in range(PARTITIONS)]
        for partition in range(PARTITIONS):
            everything = await self._read(partition, isolation_level=0)
            lost = [value for value in self._acknowledged[partition] if value not in everything]
            assert not lost, f"acknowledged and lost from partition {partition}: {lost}"
            assert len(set(committed[partition])) == len(committed[partition]), "something is there twice"
        offset = None
        for transaction in self.transactions:
            if self._is_visible(transaction, committed) and transaction.offset is not None:
                offset = transaction.offset
        assert await self._committed_offset() == offset

    def _is_visible(self, transaction: Transaction, committed: list[list[bytes]]) -> bool:
        found = {value in committed[partition] for partition, values in transaction.values.items() for value in values}
        assert len(found) <= 1, f"a part of a transaction is seen: {transaction}, {committed}"
        is_visible = found == {True}
        if transaction.fate is not Fate.COMMITTING:
            assert is_visible == (transaction.fate is Fate.COMMITTED), f"{transaction}, {committed}"
        return is_visible

    async def check_nothing_hangs(self) -> None:
        """The last stable offset is the high watermark everywhere."""
        for partition in range(PARTITIONS):
            fetched = await self._fetch(partition, isolation_level=1)
            assert fetched.last_stable_offset == fetched.high_watermark

    async def _fetch(self, partition: int, *, isolation_level: int) -> Any:
        asked = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 24,
            isolation_level=isolation_level,
            topics=[FetchTopic(topic=OUT, partitions=[asked])],
        )
        fetched = (await self._call(request, 12)).responses[0].partitions[0]
        assert fetched.error_code == E.NONE, fetched
        return fetched

    async def _read(self, partition: int, *, isolation_level: int) -> list[bytes]:
        """The values a consumer of this isolation level returns."""
        fetched = await self._fetch(partition, isolation_level=isolation_level)
        aborted = sorted((txn.first_offset, txn.producer_id) for txn in fetched.aborted_transactions or [])
        skipped: set[int] = set()
        found: list[bytes] = []
        data = memoryview(bytes(fetched.records or b""))
        for position, header in iter_batches(data):
            while aborted and aborted[0][0] <= header.last_offset:
                skipped.add(aborted.pop(0)[1])
            if header.is_control:
                skipped.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in skipped):
                batch = data[position : position + header.size_in_bytes]
                found += [record.value or b"" for record in iter_records(batch)]
        return found

    async def _committed_offset(self) -> int | None:
        topics = [OffsetFetchRequestTopics(name=IN, partition_indexes=[0])]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=topics)])
        group = (await self._call(request, 9, lambda answer: answer.groups[0].error_code)).groups[0]
        offset: int = group.topics[0].partitions[0].committed_offset
        return None if offset < 0 else offset


def _top_code(answer: Any) -> int:
    return int(getattr(answer, "error_code", E.NONE))


def _code_of_produce(answer: Any) -> int:
    return int(answer.responses[0].partition_responses[0].error_code)


def _code_of_add(answer: Any) -> int:
    codes = [
        result.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for result in topic.results_by_partition
    ]
    return int(next((code for code in codes if code), E.NONE))


def _code_of_offsets(answer: Any) -> int:
    return int(answer.topics[0].partitions[0].error_code)
